import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { confirmationPart, textMessage } from "@devtool/client";
import { codexAgent } from "@devtool/codex";
import { fileText, putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  awaitedToolCalls,
  OPTION_CANCEL,
  OPTION_PROCEED_ONCE,
  type SendMessageRequestSchema,
  TaskState,
  toolCallsOf,
} from "@devtool/schema";
import { createServer } from "@devtool/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type FakeModel, REAL_AGENTS } from "../acp/real-agents.ts";
import { clientOf } from "../client-of.ts";
import {
  type ServerProcess,
  startServing,
} from "../durability/crash/server-process.ts";
import { connectHost } from "../mcp/host.ts";
import { RawHost } from "../mcp/raw-host.ts";
import { serverProgram } from "../mcp/servers.ts";
import { MAIN } from "../our-command.ts";
import { beginAs, STAND_INS } from "./stand-in-hosts.ts";

/** What starts `devtool mcp`, in the words of both hosts. */
const COMMAND = process.execPath;

/** A host that runs from a terminal, without asking its user. */
interface Host {
  readonly name: string;
  /** What its model calls our agent; undefined for Codex, whose tests differ. */
  readonly tool?: string;
  readonly args: (prompt: string) => string[];
  /** Adds our server to its configuration. */
  readonly configure: (home: string, args: readonly string[]) => void;
}

/** Adds our server to the settings of Gemini CLI, or of a program made of it. */
function inSettings(directory: string): Host["configure"] {
  return (home, args) => {
    const path = join(home, directory, "settings.json");
    const settings = JSON.parse(fileText(dirname(path), "settings.json"));
    const mcpServers = { devtool: { command: COMMAND, args, trust: true } };
    writeFileSync(path, JSON.stringify({ ...settings, mcpServers }));
  };
}

const HOSTS: readonly Host[] = [
  {
    name: "gemini",
    tool: "mcp_devtool_agent_devtool",
    args: (prompt) => ["--approval-mode", "yolo", "-p", prompt],
    configure: inSettings(".gemini"),
  },
  {
    name: "qwen",
    tool: "mcp__devtool__agent_devtool",
    args: (prompt) => ["--approval-mode", "yolo", "-p", prompt],
    configure: inSettings(".qwen"),
  },
  {
    name: "codex",
    args: (prompt) => [
      ...["exec", "--skip-git-repo-check", "--sandbox", "read-only"],
      prompt,
    ],
    configure: (home, args) => {
      const path = join(home, ".codex/config.toml");
      const config = fileText(dirname(path), "config.toml");
      // Its model is asked once the server is there, and not before.
      const own = `[mcp_servers.devtool]
required = true
startup_timeout_sec = 60
command = ${JSON.stringify(COMMAND)}
args = ${JSON.stringify(args)}
default_tools_approval_mode = "approve"
`;
      writeFileSync(path, `${config}\n${own}`);
    },
  },
];

const INSPECTOR = fileURLToPath(
  new URL(
    "../../peers/acp/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js",
    import.meta.url,
  ),
);
const noInspector = existsSync(INSPECTOR)
  ? ""
  : " (skipped: it is not installed: run npx -y pnpm@12 install:peers agents)";

describe.skipIf(noInspector !== "")(
  `MCP Inspector 2.12.0 as a host${noInspector}`,
  () => {
    it("lists the agent, calls it, shows what it asks, and answers in a later run", async () => {
      const home = temporaryDirectory();
      const workspace = temporaryDirectory();
      const inspect = (...args: readonly string[]) => {
        const { stdout, stderr } = spawnSync(
          process.execPath,
          [
            ...[INSPECTOR, "--cli", ...args, "--", process.execPath, MAIN],
            ...["mcp", "--data", join(home, "data"), "--workspace", workspace],
          ],
          { env: { PATH: process.env.PATH, HOME: home }, encoding: "utf8" },
        );
        // It shows nothing of what a server says on standard error.
        if (stdout === "") throw new Error(stderr);
        return JSON.parse(stdout);
      };
      const { tools } = inspect("--method", "tools/list");
      expect(Object(tools[0]).name).toBe("agent_devtool");
      const call = ["--method", "tools/call", "--tool-name", "agent_devtool"];
      const prompt = (text: string) => ["--tool-arg", `prompt=${text}`];
      expect(
        inspect(...call, ...prompt("text The agent was here.")),
      ).toMatchObject({
        structuredContent: { state: "completed", text: "The agent was here." },
      });
      const asking = inspect(...call, ...prompt("write a.txt hello"));
      expect(asking).toMatchObject({
        structuredContent: {
          state: "input-required",
          questions: [{ text: expect.stringContaining("+hello") }],
        },
      });
      // Both programs have ended meanwhile: new ones go on with the task.
      const { taskId, questions } = asking.structuredContent;
      const answered = inspect(
        ...["--method", "tools/call", "--tool-name", "task_answer"],
        ...["--tool-arg", `taskId=${taskId}`],
        ...["--tool-arg", `question=${questions[0].id}`],
        ...["--tool-arg", "option=proceed_once"],
      );
      expect(answered).toMatchObject({
        structuredContent: { state: "completed" },
      });
      expect(fileText(workspace, "a.txt")).toBe("hello");
    }, 120_000);
  },
);

describe.each(STAND_INS)("a stand-in for $name as a host of MCP", (host) => {
  let data: string;
  let work: string;
  beforeEach(() => {
    data = join(temporaryDirectory(), "data");
    work = temporaryDirectory();
  });

  it("has the question answered inside the call", async () => {
    await using raw = new RawHost(["--data", data], work);
    const { call } = await beginAs(host, raw);
    const asked = await call("agent_devtool", {
      prompt: "write a.txt hello\ntext Written.",
    });
    expect(asked.text).toContain("+hello");
    expect(existsSync(join(work, "a.txt"))).toBe(false);
    expect(await asked.approve()).toMatchObject({ text: "Written." });
    expect(fileText(work, "a.txt")).toBe("hello");
  });

  it("picks the task up with its question after it was killed", async () => {
    const first = new RawHost(["--data", data], work);
    const begun = await beginAs(host, first);
    await begun.call("agent_devtool", {
      prompt: "write a.txt hello\ntext Written.",
    });
    await first[Symbol.asyncDispose]();
    await using raw = new RawHost(["--data", data], work);
    const { call, newestTaskId } = await beginAs(host, raw);
    const asked = await call("task_wait", { taskId: await newestTaskId() });
    expect(asked.text).toContain("+hello");
    expect(await asked.approve()).toMatchObject({ text: "Written." });
    expect(fileText(work, "a.txt")).toBe("hello");
  });
});

describe.each(HOSTS)("$name as a host of MCP", (host) => {
  const found = REAL_AGENTS.find(({ name }) => name === host.name);
  const missing = found?.missing ?? "";
  let home: string;
  let work: string;
  let server: ServerProcess;
  let model: FakeModel;
  let env: Record<string, string>;
  let ends: AsyncDisposableStack;
  beforeEach(async () => {
    ends = new AsyncDisposableStack();
    if (missing !== "" || !found) return;
    home = temporaryDirectory();
    work = join(home, "work");
    mkdirSync(work);
    const data = join(home, "data");
    if (host.name === "codex") {
      // Our agent has a server whose tools ask their user.
      mkdirSync(data, { mode: 0o700 });
      putFile(
        data,
        "config.toml",
        `[[mcp_servers]]
name = "everything"
stdio = { command = ${JSON.stringify(COMMAND)}, args = ${JSON.stringify(EVERYTHING)} }
`,
      );
    }
    server = await startServing([
      ...["--data", data, "--workspace", work, "--no-console"],
    ]);
    ends.defer(() => server.kill());
    model = ends.use(await found.startModel());
    const variables = found.configure(home, model.url);
    host.configure(home, [MAIN, "mcp", "--data", data]);
    env = { PATH: process.env.PATH ?? "", HOME: home, ...variables };
  });
  afterEach(() => ends.disposeAsync());

  const play = (prompt: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const [program = ""] = Object.values(found?.programs ?? {});
      const child = spawn(process.execPath, [program, ...host.args(prompt)], {
        cwd: work,
        env,
        stdio: ["ignore", "pipe", "pipe"],
      });
      ends.defer(() => void child.kill());
      let said = "";
      child.stdout.on("data", (chunk) => (said += chunk));
      child.stderr.on("data", (chunk) => (said += chunk));
      child.once("error", reject);
      child.once("exit", () => resolve(said));
    });
  const heard = (): string => JSON.stringify(model.requests().at(-1)?.body);
  /** What the calls of our agent came to. */
  const innerResults = async (): Promise<string> => {
    const { tasks } = clientOf(server.info);
    const listed = await tasks.listTasks({});
    const read = await Promise.all(
      listed.tasks.map(({ id }) => tasks.getTask({ taskId: id })),
    );
    const calls = read.flatMap(({ task }) =>
      (task?.history ?? []).flatMap(toolCallsOf),
    );
    return inspect(
      calls.map(({ result }) => result.value),
      { depth: 9 },
    );
  };
  const approving = () =>
    connectHost(server.info, {
      era: "2026-07-28",
      answer: () => ({
        action: "accept",
        content: { answer: "proceed_once" },
      }),
    });

  it.skipIf(missing !== "" || host.tool === undefined)(
    "gives its model what our agent says and asks, and lets a later run answer",
    async () => {
      const call = (prompt: string): string =>
        `call ${host.tool} ${JSON.stringify({ prompt })}\ntext The host has ended.`;
      const said = await play(call("text The agent was here."));
      expect(heard(), said).toMatch(
        /The agent was here\.[^}]*The agent has ended/,
      );
      const asked = await play(call("write a.txt hello\ntext Written."));
      expect(heard(), asked).toContain("The agent asks in task");
      expect(heard()).toContain("May I call write_file?");
      // The host is gone: the task waits for whoever answers, as the next one.
      const other = await connectHost(server.info, { era: "2026-07-28" });
      const { resources } = await other.listResources();
      const taskId = resources[0]?.name ?? "";
      const { structuredContent } = await other.callTool({
        name: "task_wait",
        arguments: { taskId },
      });
      await other.close();
      const question = Object(structuredContent).questions[0].id;
      const args = { taskId, question, option: "proceed_once" };
      const tool = host.tool?.replace("agent_devtool", "task_answer");
      const answered = await play(
        `call ${tool} ${JSON.stringify(args)}\ntext The host has ended.`,
      );
      expect(heard(), answered).toMatch(/Written\.[^}]*The agent has ended/);
      expect(fileText(work, "a.txt")).toBe("hello");
    },
    240_000,
  );

  it.skipIf(missing !== "" || host.name !== "codex")(
    "gives its model what our agent says, and declines for a user whom codex exec does not ask",
    async () => {
      const said = await play(searchAndCall("write a.txt hello\ntext Ended."));
      expect(heard(), said).toMatch(/completed[^}]*Ended\./);
      expect(existsSync(join(work, "a.txt"))).toBe(false);
    },
    240_000,
  );

  /** A user of Codex's app-server, whom Codex asks before each call. */
  async function codexUser() {
    const config = fileText(home, ".codex/config.toml");
    putFile(
      home,
      ".codex/config.toml",
      config.replace('"approve"', '"prompt"'),
    );
    const [program = ""] = Object.values(found?.programs ?? {});
    const codex = codexAgent({
      command: [process.execPath, program, "app-server"],
      environment: env,
    });
    const outer = await createServer({ agents: { codex }, workspace: work });
    const { tasks } = clientOf(outer);
    const exchange = async (
      request: MessageInitShape<typeof SendMessageRequestSchema>,
    ) => {
      const { task: sent } = await tasks.sendMessage(request);
      const { task } = await tasks.getTask({ taskId: sent?.id ?? "" });
      if (!task) throw new Error("there is no task");
      const [call] = awaitedToolCalls(task);
      return { task, call };
    };
    type Exchange = Awaited<ReturnType<typeof exchange>>;
    return {
      say: (script: string) =>
        exchange({ message: textMessage(crypto.randomUUID(), script) }),
      /** Answers what is asked, with the content of a form. */
      answer: ({ task, call }: Exchange, option: string, content?: object) => {
        if (!call) throw new Error(`nothing is asked: ${task.error}`);
        const text = content ? JSON.stringify(content) : "";
        const message = textMessage(crypto.randomUUID(), text);
        const parts = [
          ...(content ? message.parts : []),
          confirmationPart(call, option),
        ];
        return exchange({ message: { ...message, parts }, taskId: task.id });
      },
      shown: ({ call }: Exchange) =>
        JSON.stringify(call?.confirmationRequest?.details.value),
      [Symbol.asyncDispose]: () => outer.close(),
    };
  }

  it.skipIf(missing !== "" || host.name !== "codex")(
    "asks the user of its app-server before the call, and what our agent asks in it",
    async () => {
      await using user = await codexUser();
      const begin = (file: string) =>
        user.say(searchAndCall(`write ${file} hello\ntext Ended.`));

      const called = await begin("a.txt");
      expect(called.call?.toolName).toBe("mcp__devtool__agent_devtool");
      const asked = await user.answer(called, OPTION_PROCEED_ONCE);
      expect(user.shown(asked)).toContain(
        "May I call write_file? Create a.txt",
      );
      expect(user.shown(asked)).toContain("+hello");
      const done = await user.answer(asked, OPTION_PROCEED_ONCE, {
        answer: "proceed_once",
      });
      expect([done.task.state, heard()]).toEqual([
        TaskState.COMPLETED,
        expect.stringMatching(/completed[^}]*Ended\./),
      ]);
      expect(fileText(work, "a.txt")).toBe("hello");

      const declined = await user.answer(
        await user.answer(await begin("b.txt"), OPTION_PROCEED_ONCE),
        OPTION_CANCEL,
      );
      expect(declined.task.state).toBe(TaskState.COMPLETED);
      expect(existsSync(join(work, "b.txt"))).toBe(false);
    },
    240_000,
  );

  it.skipIf(missing !== "" || host.name !== "codex")(
    "lets its user answer in words of their own what our agent asks in the call",
    async () => {
      await using user = await codexUser();
      const asking = async (tool: string, args = {}) => {
        const prompt = `call mcp__everything__${tool} ${JSON.stringify(args)}\ntext Ended.`;
        const called = await user.say(searchAndCall(prompt));
        const asked = await user.answer(called, OPTION_PROCEED_ONCE);
        expect(user.shown(asked)).toContain("May I call");
        return user.answer(asked, OPTION_PROCEED_ONCE, {
          answer: "proceed_once",
        });
      };
      const form = await asking("trigger-elicitation-request");
      expect(user.shown(form)).toContain("In your own words");
      const ended = await user.answer(form, OPTION_PROCEED_ONCE, {
        answer: "proceed_once",
        text: JSON.stringify({ name: "Ada" }),
      });
      expect(ended.task.state).toBe(TaskState.COMPLETED);
      expect(await innerResults()).toContain("Name: Ada");
      // A page is one more question in words: our server opens none.
      const page = await asking("trigger-url-elicitation", {
        url: "https://example.com/consent",
        message: "Please agree",
      });
      expect(user.shown(page)).toContain(
        "asks to open https://example.com/consent",
      );
      await user.answer(page, OPTION_PROCEED_ONCE, { answer: "proceed_once" });
      expect(await innerResults()).toContain("accept");
    },
    240_000,
  );

  it.skipIf(missing !== "" || host.name !== "codex")(
    "asks us as its user what a server of its own asks: a form and a page",
    async () => {
      const config = fileText(home, ".codex/config.toml");
      const own = `[mcp_servers.everything]
required = true
startup_timeout_sec = 60
command = ${JSON.stringify(COMMAND)}
args = ${JSON.stringify(EVERYTHING)}
default_tools_approval_mode = "approve"
`;
      putFile(home, ".codex/config.toml", `${config}\n${own}`);
      await using user = await codexUser();
      const call = (tool: string, args = {}) =>
        user.say(
          [
            'call tool_search {"query":"trigger elicitation"}',
            "next",
            `call ${tool} ${JSON.stringify(args)}`,
            "text The host has ended.",
          ].join("\n"),
        );
      const form = await call("trigger_elicitation_request");
      expect(user.shown(form)).toContain("Answer with a JSON object that has");
      await user.answer(form, OPTION_PROCEED_ONCE, { name: "Ada" });
      expect(heard()).toContain("Name: Ada");
      const page = await call("trigger_url_elicitation", {
        url: "https://example.com/consent",
        message: "Please agree",
      });
      expect(user.shown(page)).toContain(
        "asks to open https://example.com/consent",
      );
      await user.answer(page, OPTION_PROCEED_ONCE);
      expect(heard()).toContain("User completed the URL elicitation flow");
    },
    240_000,
  );

  it.skipIf(missing !== "" || host.name !== "codex")(
    "shows its model our tasks as resources",
    async () => {
      const other = await approving();
      const { structuredContent } = await other.callTool({
        name: "agent_devtool",
        arguments: { prompt: "text The agent was here." },
      });
      await other.close();
      const uri = `devtool://tasks/${Object(structuredContent).taskId}`;
      const listed = await play(
        'call list_mcp_resources {"server":"devtool"}\ntext The host has ended.',
      );
      expect(heard(), listed).toContain(uri);
      const read = await play(
        `call read_mcp_resource ${JSON.stringify({ server: "devtool", uri })}\ntext The host has ended.`,
      );
      expect(heard(), read).toContain("The agent was here.");
    },
    240_000,
  );
});

/** The reference server of MCP, whose tools ask their user. */
const EVERYTHING = [serverProgram("server-everything"), "stdio"];

/** The steps by which Codex's model finds our agent and calls it. */
function searchAndCall(prompt: string): string {
  return [
    'call tool_search {"query":"devtool agent"}',
    "next",
    `call agent_devtool ${JSON.stringify({ prompt })}`,
    "text The host has ended.",
  ].join("\n");
}
