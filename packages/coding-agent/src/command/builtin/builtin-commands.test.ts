import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { fileText, putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  ExecuteSlashCommandRequestSchema,
  type Message,
  MessageSchema,
  Role,
  structFromJson,
  type Task,
  TaskSchema,
  ToolCallStatus,
} from "@devtool/schema";
import type { CommandContext } from "@devtool/server/agent";
import { beforeEach, describe, expect, it } from "vitest";
import { loadMemory } from "../../agent/memory.ts";
import type { ModelToolCall, StepRequest } from "../../agent/model.ts";
import type { McpServerStatus } from "../../tool/mcp.ts";
import { Workspace } from "../../tool/workspace.ts";
import { TrustStore } from "../../trust/trust-store.ts";
import type { CommandServices, Conversations } from "../services.ts";
import { SlashCommands } from "../slash-commands.ts";
import { builtinCommands } from "./builtin-commands.ts";

/** Almost as many files as an approval request lists; the tests add more. */
const WRITTEN = Array.from({ length: 20 }, (_none, index) => `src/${index}.ts`);

const { signal } = new AbortController();

describe("the built-in commands (CMD-3)", () => {
  let base: string;
  let workspace: string;
  let context: CommandContext;
  let services: CommandServices & { readonly trust: TrustStore };

  beforeEach(async () => {
    base = temporaryDirectory();
    workspace = join(base, "repository");
    await mkdir(workspace);
    context = {
      workspacePath: workspace,
      contextId: "context",
      principal: "local",
    };
    const trust = new TrustStore({
      dataDirectory: join(base, "data"),
      openDirectory: (path) => new Workspace(path),
      now: () => new Date(0),
    });
    services = {
      version: "1.2.3",
      model: "some-model",
      operator: "local",
      trust,
      loadMemory: ({ workspacePath }) =>
        loadMemory(
          {
            configDirectory: join(base, "config"),
            workspaceRoots: [base],
            trust,
            onNotice: () => undefined,
          },
          workspacePath,
        ),
    };
  });

  it("are available depending on the services", async () => {
    expect(
      builtinCommands({ version: "1", model: "m" }).map(({ path }) =>
        path.join(" "),
      ),
    ).toEqual(["help", "about", "init", "shell", "tools"]);
    const all = builtinCommands({
      ...services,
      conversations: conversation(undefined),
      checkpoints: {
        list: async () => [],
        preview: (_place, id) => Promise.resolve({ id, write: [], remove: [] }),
        restore: async () => [],
      },
      mcp: { list: async () => [], refresh: async () => undefined },
      policies: { list: async () => [] },
    });
    expect(all.map(({ path }) => path.join(" "))).toEqual([
      "help",
      "about",
      "init",
      "shell",
      "tools",
      "memory show",
      "memory list",
      "memory refresh",
      "memory add",
      "compress",
      "plan",
      "stats",
      "cost",
      "restore",
      "restore list",
      "mcp list",
      "mcp refresh",
      "policies list",
    ]);
  });

  it("/help lists every command with its arguments", async () => {
    const text = await say("help", "", services);
    expect(text).toContain("/help - Lists the slash commands");
    expect(text).toContain(
      "/memory add <fact> - Adds a fact to the memory file of the workspace",
    );
  });

  it("/memory show, list and refresh show the memory files", async () => {
    await write("config/AGENTS.md", "Be brief.\n");
    await write("repository/AGENTS.md", "Use tabs.\n");
    expect(await say("memory list", "", services)).toBe(
      `${base}/config/AGENTS.md - 10 bytes, for all workspaces\nconfiguration in "${workspace}" is not read: nobody trusted it: ` +
        `look at it, then run: devtool trust add ${workspace}`,
    );
    expect(await say("memory refresh", "", services)).toMatch(
      /^Read 1 memory file with 10 bytes\.\n/,
    );
    await services.trust.grant(await services.trust.preview(workspace));
    expect(await say("memory refresh", "", services)).toBe(
      "Read 2 memory files with 20 bytes.",
    );
    expect(await say("memory show", "", services)).toBe(
      `${base}/config/AGENTS.md\n\nBe brief.\n\n${workspace}/AGENTS.md\n\nUse tabs.`,
    );
  });

  it("/memory add saves with a tool call, and an approved change keeps the workspace trusted", async () => {
    await write("repository/AGENTS.md", "Use tabs.\n");
    await services.trust.grant(await services.trust.preview(workspace));
    expect(await firstCall("memory add", "Tests are slow. ")).toEqual({
      name: "save_memory",
      args: { fact: "Tests are slow." },
    });
    await write("repository/AGENTS.md", "Use tabs.\n- Tests are slow.\n");
    const done = edited({
      before: "Use tabs.\n",
      after: "Use tabs.\n- Tests are slow.\n",
    });
    expect(await say("memory add", "x", services, [done])).toContain(
      "(AGENTS.md changed)",
    );
    expect(
      await say("memory add", "x", services, [done, answer("call-1")]),
    ).toBe("");
    expect((await services.trust.trustOf(workspace)).case).toBe("trusted");
  });

  it("/memory add says that an untrusted workspace's file is not read", async () => {
    await write("repository/AGENTS.md", "x\n");
    const history = [
      edited({ before: undefined, after: "x\n" }),
      answer("call-1"),
    ];
    expect(await say("memory add", "x", services, history)).toContain(
      "nobody trusted it",
    );
    expect(await services.trust.list()).toEqual([]);
  });

  it("/init keeps a workspace trusted if the user approved the file", async () => {
    await services.trust.grant(await services.trust.preview(workspace));
    await write("repository/AGENTS.md", "# x\n");
    expect(
      await say("init", "", services, [
        edited({ before: undefined, after: "# x\n" }),
        answer("call-1"),
      ]),
    ).toBe("");
    expect((await services.trust.trustOf(workspace)).case).toBe("trusted");
  });

  it("/stats shows the time, tokens and calls of the conversation", async () => {
    const text = await say("stats", "", {
      ...services,
      conversations: conversation(busyTask()),
    });
    expect(text).toBe(`task: task
model: some-model
time: 1 min 5 s, 1 of your messages, 1 steps
tokens: 100 in (40 cached), 20 out (5 thoughts)
tool calls: 3 (2 succeeded, 1 failed)
  update_plan: 2 (2 succeeded)
  read_file: 1 (1 failed)`);
    expect(
      await say("stats", "", {
        ...services,
        conversations: conversation(undefined),
      }),
    ).toBe(
      'There is no conversation in context "context": send its context_id with the command (the contextId of its tasks), or send a message first.',
    );
  });

  it("/stats, /cost and /plan are about all tasks of the conversation, the latest first", async () => {
    const { usage } = busyTask();
    const command = { commandPath: ["compress"] };
    const talk = create(TaskSchema, {
      id: "talk",
      usage,
      history: [{ role: Role.USER }, { role: Role.AGENT }],
    });
    const compressed = create(TaskSchema, { id: "c", usage, command });
    const conversations = {
      ...conversation(undefined),
      async *tasks() {
        yield* [compressed, talk, busyTask()];
      },
    };
    const shown = (word: string) =>
      say(word, "", { ...services, conversations });
    const tokens = "tokens: 300 in (120 cached), 60 out (15 thoughts)";
    expect(await shown("stats")).toBe(`task: talk, the latest of 2
model: none
time: 1 min 5 s, 2 of your messages, 2 steps
${tokens}
tool calls: 3 (2 succeeded, 1 failed)
  update_plan: 2 (2 succeeded)
  read_file: 1 (1 failed)`);
    expect(await shown("cost")).toBe(`${tokens}\ncost: 0.0000`);
    expect(await shown("plan")).toBe("[x] look\n[>] mend\n[ ] test");
  });

  it("/cost and /stats show what the models of the conversation cost", async () => {
    const priced = { model: "some-model", tokens: 120, cost: 0.0421 };
    const unpriced = { model: "other", tokens: 30, cost: undefined };
    const shown = (
      command: string,
      spending: Parameters<typeof conversation>[1],
    ) =>
      say(command, "", {
        ...services,
        conversations: conversation(busyTask(), spending),
      });
    const tokens = "tokens: 100 in (40 cached), 20 out (5 thoughts)";
    expect(await shown("cost", [priced])).toBe(
      `${tokens}\ncost: 0.0421\n  some-model: 120 tokens, 0.0421`,
    );
    expect(await shown("cost", [priced, unpriced])).toBe(
      `${tokens}\ncost: 0.0421, without other\n  some-model: 120 tokens, 0.0421\n  other: 30 tokens, no price\nThe operator gives a model its price with budget.prices in config.toml.`,
    );
    expect(await shown("cost", [unpriced])).toContain("\ncost: unknown\n");
    expect(await shown("cost", [])).toBe(`${tokens}\ncost: 0.0000`);
    expect(await shown("stats", [priced, unpriced])).toContain(
      `${tokens}\ncost: 0.0421, without other\ntool calls: 3`,
    );
    expect(await shown("stats", [unpriced])).not.toContain("cost:");
  });

  it("/plan shows the latest plan", async () => {
    const text = await say("plan", "", {
      ...services,
      conversations: conversation(busyTask()),
    });
    expect(text).toBe("[x] look\n[>] mend\n[ ] test");
    expect(
      await say("plan", "", {
        ...services,
        conversations: conversation(undefined),
      }),
    ).toContain("send its context_id");
  });

  it("/plan reads no further than the plan, and /cost no old content", async () => {
    const asked: unknown[] = [];
    const conversations = {
      ...conversation(undefined),
      async *tasks(...[, content, stop]: Parameters<Conversations["tasks"]>) {
        asked.push(content, stop);
        yield busyTask();
        if (content === "all") throw new Error("it read on");
      },
      spending: async (...[, stop]: Parameters<Conversations["spending"]>) => {
        asked.push(stop);
        return [];
      },
    };
    const all = { ...services, conversations };
    expect(await say("plan", "", all)).toContain("[>] mend");
    expect(await say("cost", "", all)).toContain("tokens: 100 in");
    expect(asked).toEqual(["all", signal, signal, "recent", signal]);
  });

  it("/compress summarizes the task of its conversation", async () => {
    const compressed: string[] = [];
    const conversations = {
      find: async ({ contextId }: CommandContext) =>
        contextId === "context" ? busyTask() : undefined,
      async *tasks() {},
      compress: async (taskId: string) => compressed.push(taskId) * 7,
      spending: async () => [],
    };
    expect(await say("compress", "", { ...services, conversations })).toBe(
      "A summary stands for 7 messages now; the log keeps them.",
    );
    expect(compressed).toEqual(["task"]);
  });

  it("/restore restores the files with a tool of its own, which needs approval", async () => {
    const restored: string[][] = [];
    const checkpoints: CommandServices["checkpoints"] = {
      list: async () => [
        { id: "a1", time: new Date(0), label: "replace src/a.ts" },
      ],
      preview: async (_place, id) => ({
        id,
        write: [...WRITTEN, ".mcp.json"],
        remove: ["b\nc"],
      }),
      restore: async ({ taskId }, { id }) => {
        restored.push([taskId, id]);
        return ["src/a.ts"];
      },
    };
    const all = { ...services, checkpoints };
    expect(await say("restore list", "", all)).toBe(
      "a1  1970-01-01T00:00:00.000Z  replace src/a.ts",
    );
    expect(await firstCall("restore", " a1 ", all)).toEqual({
      name: "restore_checkpoint",
      args: { checkpoint: "a1" },
    });

    const commands = new SlashCommands(builtinCommands(all));
    const [tool] = commands.tools(requestOf("restore", "a1"), context, "task");
    const invocation = await tool?.prepare({ checkpoint: "a1" }, signal);
    const asked = [
      "Restore the files of the workspace to checkpoint a1 (1970-01-01T00:00:00.000Z, before: replace src/a.ts)",
      "22 files change:",
      "  .mcp.json",
      ...WRITTEN.slice(0, 19).map((path) => `  ${path}`),
      "  and 2 more",
    ].join("\n");
    expect(invocation?.changes).toEqual([...WRITTEN, ".mcp.json", "b\nc"]);
    expect(invocation?.confirmation).toMatchObject({
      case: "genericDetails",
      value: { description: asked },
    });
    expect(restored).toEqual([]);
    for await (const event of invocation?.execute(signal) ?? []) {
      expect(event).toMatchObject({
        value: { value: { result: { value: "Restored:\nsrc/a.ts" } } },
      });
    }
    expect(restored).toEqual([["task", "a1"]]);
  });

  it("/mcp list and refresh show the state of the servers", async () => {
    const servers: McpServerStatus[] = [
      { name: "files", state: "ready", reason: "", toolCount: 1 },
      {
        name: "web",
        state: "failed",
        reason: "it ended with code 1",
        toolCount: 0,
      },
    ];
    const mcp = {
      list: async () => servers,
      refresh: async () => void servers.splice(1),
    };
    expect(await say("mcp list", "", { ...services, mcp })).toBe(
      "files - ready, 1 tool\nweb - failed: it ended with code 1",
    );
    expect(await say("mcp refresh", "", { ...services, mcp })).toBe(
      "files - ready, 1 tool",
    );
  });

  it("/policies list shows the rules", async () => {
    const policies: CommandServices["policies"] = {
      list: async () => [
        {
          name: "policy.toml:3",
          decision: "ask",
          description: "web_fetch",
        },
      ],
    };
    expect(await say("policies list", "", { ...services, policies })).toBe(
      "ask   web_fetch (policy.toml:3)",
    );
  });

  async function write(path: string, content: string): Promise<void> {
    await mkdir(dirname(join(base, path)), { recursive: true });
    putFile(base, path, content);
    expect(fileText(base, path)).toBe(content);
  }

  async function say(
    line: string,
    args: string,
    all: CommandServices,
    history: readonly Message[] = [],
  ) {
    let text = "";
    for await (const event of eventsOf(line, args, all, history)) {
      if (event.case === "text") text += event.value;
    }
    return text;
  }

  async function firstCall(
    line: string,
    args: string,
    all: CommandServices = services,
  ) {
    const calls: ModelToolCall[] = [];
    for await (const event of eventsOf(line, args, all, [])) {
      if (event.case === "toolCall") calls.push(event.value);
    }
    expect(calls).toHaveLength(1);
    return calls[0];
  }

  function eventsOf(
    line: string,
    args: string,
    all: CommandServices,
    history: readonly Message[],
  ) {
    const request: StepRequest = {
      history,
      tools: [],
      workspacePath: workspace,
      instructions: async () => "",
      beginStep: () => () => undefined,
      traceContext: () => undefined,
      model: "",
    };
    const commands = new SlashCommands(builtinCommands(all));
    return commands
      .play(requestOf(line, args), context)
      .generate(request, signal);
  }
});

function requestOf(line: string, args: string) {
  return create(ExecuteSlashCommandRequestSchema, {
    commandPath: line.split(" "),
    args,
  });
}

function conversation(
  task: Task | undefined,
  spending: Awaited<ReturnType<Conversations["spending"]>> = [],
) {
  return {
    find: async () => task,
    async *tasks() {
      if (task) yield task;
    },
    compress: async () => 0,
    spending: async () => spending,
  };
}

/** Creates an agent's step that changed AGENTS.md. */
function edited({
  before,
  after,
}: {
  readonly before: string | undefined;
  readonly after: string;
}): Message {
  const diff = {
    filePath: "AGENTS.md",
    newContent: after,
    ...(before !== undefined && { oldContent: before }),
  };
  const output = { result: { case: "diff" as const, value: diff } };
  return create(MessageSchema, {
    role: Role.AGENT,
    parts: [
      {
        content: {
          case: "toolCall",
          value: {
            toolCallId: "call-1",
            status: ToolCallStatus.SUCCEEDED,
            result: { case: "output", value: output },
          },
        },
      },
    ],
  });
}

function answer(toolCallId: string): Message {
  return create(MessageSchema, {
    role: Role.USER,
    parts: [
      {
        content: {
          case: "confirmation",
          value: { toolCallId, selectedOptionId: "proceed_once" },
        },
      },
    ],
  });
}

function busyTask(): Task {
  const plan = (...steps: [string, string][]) =>
    structFromJson({ plan: steps.map(([step, status]) => ({ step, status })) });
  const call = (
    toolName: string,
    status: ToolCallStatus,
    inputParameters = structFromJson({}),
  ) => ({
    content: {
      case: "toolCall" as const,
      value: { toolCallId: toolName, toolName, status, inputParameters },
    },
  });
  return create(TaskSchema, {
    id: "task",
    model: "some-model",
    createTime: timestampFromMs(1000),
    updateTime: timestampFromMs(66_000),
    usage: {
      inputTokens: 100n,
      cachedTokens: 40n,
      outputTokens: 20n,
      thoughtTokens: 5n,
    },
    history: [
      { role: Role.USER, parts: [{ content: { case: "text", value: "go" } }] },
      {
        role: Role.AGENT,
        parts: [
          call(
            "update_plan",
            ToolCallStatus.SUCCEEDED,
            plan(["old", "pending"]),
          ),
          call("read_file", ToolCallStatus.FAILED),
          call(
            "update_plan",
            ToolCallStatus.SUCCEEDED,
            plan(
              ["look", "completed"],
              ["mend", "in_progress"],
              ["test", "pending"],
            ),
          ),
        ],
      },
    ],
  });
}
