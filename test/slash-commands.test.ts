import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { builtinCommands } from "../packages/server/src/command/builtin/builtin-commands.ts";
import { readCommandFile } from "../packages/server/src/command/files/command-file.ts";
import type { SlashCommand } from "../packages/server/src/command/slash-command.ts";

describe("docs/slash-commands.md", () => {
  it("lists the built-in commands that there are (CMD-3)", async () => {
    const documented = [...(await text()).matchAll(/^\| `\/([^`]+)` +\|/gm)].map(([, usage]) => usage);
    expect(documented).toEqual(allCommands().map(usageOf));
  });

  it("shows command files that work", async () => {
    const files = [...(await text()).matchAll(/<!-- command file: (\S+) -->\n```\w+\n([\s\S]*?)```/g)];
    const read = files.map(([, path = "", content = ""]) => readCommandFile(path, Buffer.from(content)));
    expect(read).toMatchObject([
      {
        description: "Writes a commit message",
        prompt: "Look at the staged changes and write a commit message for them.\nStress: {{args}}\n",
        arguments: [{ name: "what", description: "what matters most", isRequired: true }],
      },
      {
        description: "Reviews a file",
        prompt: "Review the file for mistakes, name each with its line, and change nothing.",
        arguments: [{ name: "file", isRequired: false }],
      },
    ]);
  });
});

/** All commands, as with every service. */
function allCommands(): SlashCommand[] {
  return builtinCommands({
    version: "1",
    model: "m",
    loadMemory: async () => ({ files: [], notices: [] }),
    conversations: { find: async () => undefined, compress: async () => 0 },
    checkpoints: { list: async () => [], restore: async () => [] },
    mcp: { list: async () => [], refresh: async () => undefined },
    policies: { list: async () => [] },
  });
}

function usageOf({ path, arguments: declared }: SlashCommand): string {
  const words = declared.map(({ name, isRequired }) => (isRequired ? ` <${name}>` : ` [${name}]`));
  return `${path.join(" ")}${words.join("")}`;
}

function text(): Promise<string> {
  return readFile(new URL("../docs/slash-commands.md", import.meta.url), "utf8");
}
