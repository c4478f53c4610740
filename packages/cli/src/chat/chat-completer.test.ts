import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { SlashCommandSchema } from "@devtool/schema";
import { ListedModelSchema } from "@devtool/schema/testing";
import { beforeAll, describe, expect, it } from "vitest";
import { ChatCompleter, type CompletionSource } from "./chat-completer.ts";

describe("what Tab completes in the chat", () => {
  let workspace: string;

  beforeAll(() => {
    workspace = temporaryDirectory();
    mkdirSync(join(workspace, "notes"));
    putFile(workspace, "nothing.txt", "");
    putFile(workspace, "two words.txt", "");
  });

  it.each([
    [
      "the server's commands, with a space before their arguments",
      "/pl",
      ["/plan "],
    ],
    [
      "those of the terminal beside them",
      "/re",
      ["/restore", "/resume ", "/rewind "],
    ],
    ["words of a command", "/plan s", ["/plan show"]],
    ["names of models", "/model fa", ["/model fast-1", "/model fast-2"]],
    [
      "no model whose name would be two words or a control character",
      "/model ",
      ["/model fast-1", "/model fast-2", "/model slow"],
    ],
    ["approval modes", "/mode pl", ["/mode plan"]],
    [
      "mentioned files, wherever they stand",
      "see @no",
      ["see @notes/", "see @nothing.txt"],
    ],
    ["no words of a message", "pl", []],
    ["no second argument of a command", "/model fast-1 fa", []],
  ])("is %s", async (_, before, completed) => {
    expect(
      (
        await new ChatCompleter(source(), workspace).complete(before)
      ).toSorted(),
    ).toEqual(completed);
  });

  it("offers no files where the workspace is on another machine", async () => {
    expect(
      await new ChatCompleter(source(), undefined).complete("see @no"),
    ).toEqual([]);
  });

  it("N1: offers no setting that the agent does not follow", async () => {
    const refusing = { ...source(), choices: { refusalOf: () => "none" } };
    const completer = new ChatCompleter(refusing, workspace);
    expect(await completer.complete("/mode ")).toEqual([]);
    expect(await completer.complete("/model ")).toEqual([]);
    expect(await completer.complete("/mo")).toEqual([]);
  });

  it("offers no models where the agent cannot list them", async () => {
    const failing = {
      ...source(),
      listModels: () => Promise.reject(new Error("the agent is gone")),
    };
    expect(
      await new ChatCompleter(failing, workspace).complete("/model fa"),
    ).toEqual([]);
  });
});

const COMMANDS: readonly MessageInitShape<typeof SlashCommandSchema>[] = [
  { name: "plan", subCommands: [{ name: "show" }] },
  { name: "restore" },
];

function source(): CompletionSource {
  const names = ["fast-1", "fast-2", "slow", "two words", "bell\u0007"];
  const models = names.map((name) => create(ListedModelSchema, { name }));
  const commands = COMMANDS.map((command) =>
    create(SlashCommandSchema, command),
  );
  const choices = { refusalOf: () => "" };
  return { commands, choices, listModels: () => Promise.resolve(models) };
}
