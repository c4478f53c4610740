import { chmod, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { textMessage } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  ConfirmationRequestSchema,
  OPTION_CANCEL,
  OPTION_PROCEED_ONCE,
  TaskState,
  ToolCallSchema,
} from "@devtool/schema";
import { beforeEach, describe, expect, it } from "vitest";
import { FakeTerminal } from "../test/fake-terminal.ts";
import { approveByAsking } from "./approval.ts";
import { createClient } from "./connection/connection.ts";
import { converse } from "./conversation.ts";
import { createQuestioner } from "./prompter.ts";

describe("arguments that the user changes at the terminal", () => {
  const { signal } = new AbortController();
  let workspace: string;
  beforeEach(() => {
    workspace = temporaryDirectory();
  });

  it("are put again, and run when they are approved", async () => {
    const { terminal, ended } = await play("s/theirs/mine/g");
    await terminal.play(
      ["  [c] Change the arguments, and be asked again\n"],
      ["choose > ", "c\r"],
      ["$ eval echo mine >mine.txt"],
      ["choose > ", "y\r"],
    );
    expect((await ended).state).toBe(TaskState.COMPLETED);
    expect(fileText(workspace, "mine.txt")).toBe("mine\n");
    expect(await readdir(workspace)).not.toContain("theirs.txt");
  });

  it("are kept where they are not valid, or the server refuses them, and nothing runs", async () => {
    // Each run of the editor goes on where the last one ended: broken JSON, a
    // wrong name, then as it should be.
    const { terminal, ended } = await play("", [
      "s/^{/{,/",
      "s/^{,/{/;s/command/comand/",
      "s/comand/command/;s/theirs/mine/g",
    ]);
    await terminal.play(
      ["choose > ", "c\r"],
      ["the arguments are not valid JSON: "],
      ["choose > ", "c\r"],
      ["modified_arguments.comand is unknown: choose command"],
      ["choose > ", "c\r"],
      ["$ eval echo mine >mine.txt"],
      ["choose > ", "n\r"],
    );
    await ended;
    expect(
      (await readdir(workspace)).filter((name) => name.endsWith(".txt")),
    ).toEqual([]);
  });

  it("B6: are refused with a number that would be sent as another", async () => {
    const { terminal, ended } = await play(
      's/"command": ".*"/"command": 9007199254740993/',
    );
    await terminal.play(
      ["choose > ", "c\r"],
      ["the number 9007199254740993, whose digits would be"],
      ["choose > ", "n\r"],
    );
    await ended;
  });

  it("are not sent when nothing was changed", async () => {
    const { terminal, ended } = await play("");
    await terminal.play(
      ["choose > ", "c\r"],
      ["the arguments are unchanged: nothing was sent"],
      ["choose > ", "n\r"],
    );
    await ended;
  });

  it("are not offered where the server does not say that it takes them", async () => {
    const terminal = new FakeTerminal();
    const options = [OPTION_PROCEED_ONCE, OPTION_CANCEL].map((id) => ({
      id,
      name: id,
    }));
    const call = create(ToolCallSchema, {
      toolCallId: "c",
      toolName: "run",
      confirmationRequest: create(ConfirmationRequestSchema, { options }),
    });
    const answered = approveByAsking(
      terminal.io,
      createQuestioner(terminal.io),
    )({ call, isQuestion: false }, signal);
    await terminal.play(
      ["choose > ", "c\r"],
      ["choose y, n"],
      ["choose > ", "n\r"],
    );
    expect((await answered)?.[0]?.content.value).toMatchObject({
      selectedOptionId: OPTION_CANCEL,
    });
  });

  /**
   * Asks about a command with an editor that runs a script of `sed`: always the
   * same one, or one after the other.
   */
  async function play(script: string, scripts: readonly string[] = [script]) {
    const editor = join(workspace, "editor");
    const lines = scripts.map(
      (each, index) => `${index}) exec sed -i '${each}' "$1";;`,
    );
    const count = `n=$(cat "$0.count" 2>/dev/null || echo 0); echo $((n + 1)) >"$0.count"`;
    await writeFile(
      editor,
      `#!/bin/sh\n${count}\ncase $n in\n${lines.join("\n")}\nesac\n`,
    );
    await chmod(editor, 0o700);
    const terminal = new FakeTerminal({
      ...process.env,
      NO_COLOR: "1",
      VISUAL: editor,
    });
    const ended = (async () => {
      await using server = await serveCodingAgent({
        workspace,
        sandbox: "none",
      });
      const options = {
        client: await createClient(server, "connect"),
        approve: approveByAsking(terminal.io, createQuestioner(terminal.io)),
        onEvent: () => undefined,
        onOutdated: (problem: string) =>
          void terminal.io.stderr.write(`${problem}\n`),
        nextId: () => crypto.randomUUID(),
        clientLabel: "test",
      };
      const message = textMessage("m", "run eval echo theirs >theirs.txt");
      return await converse({ request: { message } }, options, signal);
    })();
    return { terminal, ended };
  }
});
