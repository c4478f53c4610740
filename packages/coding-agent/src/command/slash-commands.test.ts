import { create } from "@bufbuild/protobuf";
import {
  type ExecuteSlashCommandRequest,
  ExecuteSlashCommandRequestSchema,
} from "@devtool/schema";
import type { CommandContext } from "@devtool/server/agent";
import { describe, expect, it } from "vitest";
import type { StepRequest } from "../agent/model.ts";
import { optional, required } from "./arguments.ts";
import type { CommandSource, SlashCommand } from "./slash-command.ts";
import { SlashCommands } from "./slash-commands.ts";
import { replyWith } from "./steps.ts";

const { signal } = new AbortController();
const context: CommandContext = {
  workspacePath: "/w",
  contextId: "c",
  principal: "p",
};

describe("SlashCommands", () => {
  const own = [
    command("help"),
    command("memory show"),
    command("memory add", [required("fact", "what to add")]),
  ];

  it("lists its own commands first, then those of the workspace, as a tree (CMD-1)", async () => {
    const commands = new SlashCommands(own, [
      source(command("git commit"), command("git log"), command("memory all")),
    ]);
    const listed = await commands.list(
      { workspacePath: "/w", principal: "me" },
      signal,
    );
    expect(
      listed.map(({ name, subCommands }) => [
        name,
        subCommands.map((sub) => sub.name),
      ]),
    ).toEqual([
      ["help", []],
      ["memory", ["show", "add", "all"]],
      ["git", ["commit", "log"]],
    ]);
    expect(listed[2]?.description).toBe("Groups the commands commit, log");
  });

  it("asks its sources about the given workspace, and not without one", async () => {
    const asked: string[] = [];
    const source: CommandSource = {
      find: async ({ workspacePath }) => {
        asked.push(workspacePath);
        return { commands: [], notices: [] };
      },
    };
    await new SlashCommands(own, [source]).list(
      { workspacePath: "/other", principal: "me" },
      signal,
    );
    expect(
      await new SlashCommands(own, [source]).list(
        { workspacePath: "", principal: "me" },
        signal,
      ),
    ).toHaveLength(2);
    expect(asked).toEqual(["/other"]);
  });

  it("prefers its own command to one of a source with the same words", async () => {
    const commands = new SlashCommands(own, [
      source(command("help", [], "not this one")),
    ]);
    expect(
      (
        await commands.list({ workspacePath: "/w", principal: "me" }, signal)
      ).map(({ name }) => name),
    ).toEqual(["help", "memory"]);
    expect(await textOf(commands, "help")).toBe("help:");
  });

  const refusals = [
    {
      line: "hepl",
      says: "/hepl does not exist: did you mean /help? Two commands are missing.",
    },
    {
      line: "xyzzy",
      says: "/xyzzy does not exist: see /help. Two commands are missing.",
    },
    {
      line: "memory",
      says: "/memory needs another word: choose /memory show, /memory add",
    },
    { line: "memory add", says: "/memory add needs <fact>: what to add" },
    { line: "help", says: undefined },
    { line: "review", says: undefined },
  ];
  for (const { line, says } of refusals) {
    it(`says ${says === undefined ? "that" : "why"} /${line} ${says === undefined ? "can" : "cannot"} start (CMD-2)`, async () => {
      const found = {
        ...source(command("review")),
        notices: ["Two commands are missing."],
      };
      const commands = new SlashCommands(own, [found]);
      expect(await commands.check(request(line), context, signal)).toBe(says);
    });
  }

  it("suggests no command for a very long name", async () => {
    const long = "x".repeat(200);
    const commands = new SlashCommands([command(long)], []);
    expect(
      await commands.check(request(long.slice(1)), context, signal),
    ).toContain("did you mean");
    expect(
      await commands.check(request(`${long}x`), context, signal),
    ).not.toContain("did you mean");
  });

  it("reports an internal error of a command to the operator", async () => {
    const picky: SlashCommand = {
      ...command("picky"),
      play: () => {
        throw new Error("secret path");
      },
    };
    const notices: string[] = [];
    const commands = new SlashCommands([picky], [], (notice) =>
      notices.push(notice),
    );
    expect(await commands.check(request("picky"), context, signal)).toBe(
      "internal error: the server's log says more",
    );
    expect(notices).toHaveLength(1);
    expect(notices[0]).toMatch(
      /^a slash command failed inside the server: \{"command":"picky",.*"error":"Error","at":"/,
    );
    expect(notices[0]).not.toContain("secret");
  });

  it("plays a command of a source with its arguments and workspace", async () => {
    const commands = new SlashCommands(own, [
      source(command("git commit", [optional("what", "what")])),
    ]);
    expect(await textOf(commands, "git commit", "all of it")).toBe(
      "git commit: all of it in /w",
    );
  });

  it("fails the execution of a command that the workspace no longer has", async () => {
    await expect(
      textOf(new SlashCommands(own, [source()]), "gone"),
    ).rejects.toThrow("/gone does not exist");
  });
});

function command(
  line: string,
  args: SlashCommand["arguments"] = [],
  description = `does ${line}`,
): SlashCommand {
  return {
    path: line.split(" "),
    description,
    arguments: args,
    play: (typed, { workspacePath }) =>
      replyWith(() =>
        typed === "" ? `${line}:` : `${line}: ${typed} in ${workspacePath}`,
      ),
  };
}

function source(
  ...commands: SlashCommand[]
): CommandSource & { notices: string[] } {
  const notices: string[] = [];
  return {
    notices,
    async find() {
      return { commands, notices: this.notices };
    },
  };
}

function request(line: string, args = ""): ExecuteSlashCommandRequest {
  return create(ExecuteSlashCommandRequestSchema, {
    commandPath: line.split(" "),
    args,
  });
}

async function textOf(
  commands: SlashCommands,
  line: string,
  args = "",
): Promise<string> {
  let text = "";
  for await (const event of commands
    .play(request(line, args), context)
    .generate(nothing(), signal)) {
    if (event.case === "text") text += event.value;
  }
  return text;
}

function nothing(): StepRequest {
  return {
    history: [],
    tools: [],
    workspacePath: "/w",
    instructions: async () => "",
    beginStep: () => () => undefined,
    traceContext: () => undefined,
    model: "",
  };
}
