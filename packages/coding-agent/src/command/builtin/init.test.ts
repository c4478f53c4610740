import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeEach, describe, expect, it } from "vitest";
import type { Model, ModelEvent, ModelToolCall } from "../../agent/model.ts";
import type { SlashCommand } from "../slash-command.ts";
import { initCommand } from "./init.ts";

const { signal } = new AbortController();

describe("/init", () => {
  let base: string;
  let workspace: string;

  beforeEach(async () => {
    base = temporaryDirectory();
    workspace = join(base, "repository");
    await mkdir(workspace);
  });

  it("proposes a template without a model that understands prose", async () => {
    const call = await firstCall();
    expect(call).toMatchObject({
      name: "write_file",
      args: { file_path: "AGENTS.md" },
    });
    expect(call?.args.content).toBe(`# repository

Say here what the project is for.

## Layout

- Say here what the directories hold.

## Commands

- Say here how to build, test and check it.

## Conventions

- Say here what an agent cannot see in the code: rules to keep, traps, whom to ask.
`);
  });

  it("does not replace an existing memory file", async () => {
    await write("AGENTS.md", "# x\n");
    expect(await textOf(initCommand({}))).toContain(
      "AGENTS.md is already there",
    );
  });

  it("has a model that understands prose explore the workspace", async () => {
    const prose: Model = {
      name: "prose",
      async *generate({ history }) {
        yield {
          case: "text",
          value: history.map(({ parts }) => parts[0]?.content.value).join(),
        };
      },
    };
    const text = await textOf(initCommand({ prose }));
    expect(text).toMatch(
      /^Look at this workspace with your tools and write AGENTS\.md/,
    );
  });

  async function write(path: string, content: string): Promise<void> {
    await mkdir(dirname(join(workspace, path)), { recursive: true });
    putFile(workspace, path, content);
  }

  async function firstCall(): Promise<ModelToolCall | undefined> {
    const events = await eventsOf(initCommand({}));
    return events.flatMap((event) =>
      event.case === "toolCall" ? [event.value] : [],
    )[0];
  }

  async function textOf(command: SlashCommand): Promise<string> {
    const events = await eventsOf(command);
    return events
      .map((event) => (event.case === "text" ? event.value : ""))
      .join("");
  }

  async function eventsOf(command: SlashCommand): Promise<ModelEvent[]> {
    const model = command.play("", {
      workspacePath: workspace,
      contextId: "",
      principal: "",
    });
    const request = {
      history: [],
      tools: [],
      workspacePath: workspace,
      instructions: async () => "",
      beginStep: () => () => undefined,
      traceContext: () => undefined,
      model: "",
    };
    return Array.fromAsync(model.generate(request, signal));
  }
});
