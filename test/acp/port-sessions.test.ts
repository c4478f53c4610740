import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import type {
  McpServer,
  McpServerStdio,
  RequestPermissionRequest,
} from "@agentclientprotocol/sdk";
import { objectOrEmpty, stringOrEmpty } from "@devtool/internal/json";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { Role } from "@devtool/schema";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import {
  type ServerProcess,
  startServing,
} from "../durability/crash/server-process.ts";
import { MAIN } from "../our-command.ts";
import { choose, Editor, type EditorOptions } from "./port/editor.ts";

/** An MCP server that leaves a mark when it starts. */
const CTX = `
  import { appendFileSync } from "node:fs";
  import { createInterface } from "node:readline";
  appendFileSync(process.argv[2], "started " + process.env.MARK + "\\n");
  const results = {
    initialize: {
      protocolVersion: "2025-06-18", capabilities: { tools: {} },
      serverInfo: { name: "ctx", version: "1" },
    },
    "tools/list": { tools: [{ name: "greet", inputSchema: { type: "object" } }] },
  };
  createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method } = JSON.parse(line);
    if (id === undefined) return;
    const result = results[method];
    const error = { code: -32601, message: "no" };
    console.log(JSON.stringify({ jsonrpc: "2.0", id, ...(result ? { result } : { error }) }));
  });`;

describe("the sessions of devtool acp", () => {
  let base: string;
  let work: string;
  let mark: string;
  let ctx: McpServerStdio;
  const children: ChildProcessByStdio<Writable, Readable, Readable>[] = [];
  const editors: Editor[] = [];
  const servers: ServerProcess[] = [];

  beforeEach(async () => {
    base = temporaryDirectory();
    work = join(base, "work");
    mark = join(base, "mark");
    await mkdir(work);
    putFile(base, "ctx.mjs", CTX);
    ctx = {
      name: "ctx",
      command: process.execPath,
      args: [join(base, "ctx.mjs"), mark],
      env: [
        { name: "MARK", value: "here" },
        { name: "CTX_TOKEN", value: "hush" },
      ],
    };
  });
  afterEach(async () => {
    const problems = editors.splice(0).flatMap((editor) => editor.problems);
    for (const child of children.splice(0)) await end(child);
    for (const server of servers.splice(0)) await server.kill();
    expect(problems).toEqual([]);
  });

  it("F0: start the editor's own MCP server after a yes, which is asked for once", async () => {
    const asked: RequestPermissionRequest[] = [];
    const editor = start({
      onPermission: (question) => {
        asked.push(question);
        expect(existsSync(mark)).toBe(false);
        return choose("allow_once")(question);
      },
    });
    const session = await open(editor, [ctx]);
    expect(await editor.prompt(session, "/tools")).toBe("end_turn");
    expect(editor.text).toContain("mcp__ctx__greet");
    expect(await editor.prompt(session, "text Again.")).toBe("end_turn");
    const other = await open(editor, [ctx]);
    expect(await editor.prompt(other, "text There.")).toBe("end_turn");
    expect(asked).toHaveLength(1);
    const shown = JSON.stringify(asked[0]);
    expect(asked[0]?.toolCall.title).toBe('Start the MCP server "ctx"?');
    expect(shown).toContain(`MARK=here CTX_TOKEN=[hidden] ${process.execPath}`);
    expect(shown).toContain("outside of the sandbox");
    expect(shown).not.toContain("hush");
    expect(readFileSync(mark, "utf8")).toMatch(/^(started here\n)+$/);
  });

  it.each([
    ["says no", choose("reject_once")],
    ["answers with an option that was not offered", chosen("proceed_always")],
    ["cannot answer", undefined],
  ])(
    "F0: go on without it where the editor %s",
    async (_name, onPermission) => {
      const editor = start(onPermission ? { onPermission } : {});
      const session = await open(editor, [ctx]);
      for (const text of ["text One.", "text Two."]) {
        expect(await editor.prompt(session, text)).toBe("end_turn");
      }
      expect(editor.text).toBe(
        'MCP server "ctx" is not started. The session goes on without it.\nOne.Two.',
      );
      expect(existsSync(mark)).toBe(false);
    },
  );

  it("F0: ask nothing where the operator allows no MCP servers of clients", async () => {
    await mkdir(join(base, "data"), { mode: 0o700 });
    putFile(base, "data/config.toml", 'client_mcp_servers = "none"');
    const editor = start({ onPermission: choose("reject_once") });
    const session = await open(editor, [ctx]);
    expect(await editor.prompt(session, "text Hi.")).toBe("end_turn");
    expect(editor.text).toMatch(/goes on without.*Hi\.$/s);
    expect(existsSync(mark)).toBe(false);
  });

  it("F0: go on without it on a running server, and say why", async () => {
    servers.push(
      await startServing(["--data", join(base, "data"), "--workspace", work]),
    );
    const editor = start({});
    const url = "http://127.0.0.1:1/";
    const session = await open(editor, [
      ctx,
      { type: "http", name: "far", url, headers: [] },
    ]);
    expect(await editor.prompt(session, "/about")).toBe("end_turn");
    expect(await editor.prompt(session, "text Hi.")).toBe("end_turn");
    expect(editor.text).toContain(
      'mcp_servers "ctx" is not allowed, since clients may not add servers that run a command',
    );
    expect(editor.text).toContain('MCP server "far":');
    expect(existsSync(mark)).toBe(false);
  });

  it("F0: go on with an agent that takes no MCP servers", async () => {
    const module = join(base, "pub.mjs");
    await writeFile(
      module,
      `async function* execute(turn) { yield* turn.say("I am pub."); }
      export const agent = { about: { name: "Pub", description: "Says." }, open: () => ({ createExecutor: () => ({ execute }) }) };`,
    );
    servers.push(
      await startServing([
        ...["--data", join(base, "data"), "--workspace", work],
        ...["--agent", `pub=${module}`],
      ]),
    );
    const editor = start({});
    const far = { name: "far", url: "https://example.com/", headers: [] };
    const session = await open(editor, [{ ...far, type: "http" }]);
    expect(await editor.prompt(session, "Hi.")).toBe("end_turn");
    expect(editor.text).toMatch(
      /MCP server "far" cannot be used: the agent "Pub" does not take .*I am pub\.$/s,
    );
  });

  it("F0: leave out servers that no agent could use", async () => {
    const editor = start({});
    const at = (name: string, url: string): McpServer => ({
      type: "http",
      name,
      url,
      headers: [],
    });
    const session = await open(editor, [
      at("ftp", "ftp://example.com/"),
      at("", "https://example.com/"),
      at("far", "http://127.0.0.1:1/"),
      at("far", "http://127.0.0.1:2/"),
    ]);
    expect(await editor.prompt(session, "text Hi.")).toBe("end_turn");
    for (const problem of [
      'MCP server "ftp" cannot be used: its URL "ftp://example.com/" does not begin',
      'MCP server "" cannot be used: it has no name',
      'MCP server "far" cannot be used: its name is used twice',
    ]) {
      expect(editor.text).toContain(problem);
    }
  });

  it("F18: load and resume as empty before the first prompt, also in another run", async () => {
    const editor = start({});
    const sessionId = await open(editor, []);
    const params = { sessionId, cwd: work, mcpServers: [] };
    await editor.agent.request("session/load", params);
    await editor.agent.request("session/resume", params);
    expect(await editor.prompt(sessionId, "text One.")).toBe("end_turn");
    expect(editor.text).toBe("One.");
    const unused = await open(editor, []);
    await stop();
    const later = start({});
    await later.agent.request("initialize", { protocolVersion: 1 });
    const again = { ...params, sessionId: unused };
    await later.agent.request("session/load", again);
    expect(await later.prompt(unused, "text Two.")).toBe("end_turn");
    expect(later.text).toBe(
      "This server has no messages of this session: it begins empty.\nTwo.",
    );
    await expect(
      later.agent.request("session/load", { ...params, sessionId: "nobody" }),
    ).rejects.toMatchObject({ code: -32_002 });
  });

  it("I6: are found again by a later run, without a running server", async () => {
    const first = start({});
    const sessionId = await open(first, []);
    await first.prompt(sessionId, "text Remember this.");
    await stop();
    const editor = start({ onPermission: choose("allow_once") });
    await editor.agent.request("initialize", { protocolVersion: 1 });
    for (const request of [{ cwd: work }, {}]) {
      expect(await editor.agent.request("session/list", request)).toMatchObject(
        { sessions: [{ sessionId, cwd: work }] },
      );
    }
    await editor.agent.request("session/load", {
      sessionId,
      cwd: work,
      mcpServers: [ctx],
    });
    expect(editor.text).toBe("Remember this.");
    expect(existsSync(mark)).toBe(false);
    // A server that the session did not have is part of it from then on.
    expect(await editor.prompt(sessionId, "text And this.")).toBe("end_turn");
    expect(editor.text).toMatch(/And this\.$/);
    expect(await editor.prompt(sessionId, "/tools")).toBe("end_turn");
    expect(editor.text).toContain("mcp__ctx__greet");
    // Another one of that name is not, and its user is told.
    const kept = '"ctx" is not the one of that name that this session has';
    for (const args of [ctx.args, ["other.mjs"]]) {
      expect(editor.text).not.toContain(kept);
      const mcpServers = [{ ...ctx, args }];
      const again = { sessionId, cwd: work, mcpServers };
      await editor.agent.request("session/load", again);
    }
    await editor.until(() => editor.text.includes(kept));
  });

  it("F0: say what a session lacks whose agent takes servers with its first prompt only", async () => {
    const module = join(base, "pub.mjs");
    await writeFile(
      module,
      `async function* execute(turn) { yield* turn.say("I am pub."); }
      export const agent = { about: { name: "Pub", description: "Says." }, follows: ["mcp_servers"], open: () => ({ createExecutor: () => ({ execute }) }) };`,
    );
    servers.push(
      await startServing([
        ...["--data", join(base, "data"), "--workspace", work],
        ...["--agent", `pub=${module}`],
      ]),
    );
    const editor = start({});
    const sessionId = await open(editor, []);
    await editor.prompt(sessionId, "Hi.");
    const url = "https://example.com/";
    await editor.agent.request("session/load", {
      sessionId,
      cwd: work,
      mcpServers: [{ type: "http", name: "far", url, headers: [] }],
    });
    await editor.until(() =>
      editor.text.includes('"far" is not part of this session'),
    );
    expect(await editor.prompt(sessionId, "Hi.")).toBe("end_turn");
  });

  it("STREAM-5: fork from where a session is, while that one goes on", async () => {
    const server = await startServing([
      ...["--data", join(base, "data"), "--workspace", work],
    ]);
    servers.push(server);
    const editor = start({});
    const { agentCapabilities } = await editor.agent.request("initialize", {
      protocolVersion: 1,
    });
    expect(agentCapabilities).toMatchObject({
      sessionCapabilities: { fork: {} },
    });
    const sessionId = await open(editor, []);
    const place = { cwd: work, mcpServers: [] };
    const fork = async (from: string): Promise<string> => {
      const request = { sessionId: from, ...place };
      const answer = await editor.agent.request("session/fork", request);
      return stringOrEmpty(objectOrEmpty(answer).sessionId);
    };
    await editor.prompt(sessionId, "text One.");
    const first = await fork(sessionId);
    // A fork of what has not begun goes on with the same.
    const second = await fork(first);
    await editor.agent.request("session/load", {
      sessionId: second,
      ...place,
    });
    await editor.prompt(sessionId, "text Two.");
    const last = await fork(sessionId);
    await expect(editor.prompt(first, "/about")).rejects.toMatchObject({
      code: -32_602,
      message: expect.stringContaining("send one before /about"),
    });
    for (const id of [first, second, last]) {
      expect(await editor.prompt(id, "text Else.")).toBe("end_turn");
      expect(await editor.prompt(id, "text More.")).toBe("end_turn");
    }
    const historyOf = async (contextId: string) => {
      const { tasks } = clientOf(server.info);
      const { tasks: found } = await tasks.listTasks({ contextId });
      expect(found).toHaveLength(1);
      const { task } = await tasks.getTask({ taskId: found[0]?.id ?? "" });
      return task?.history.filter(({ role }) => role === Role.USER) ?? [];
    };
    const [one, two] = await historyOf(sessionId);
    const taskId = expect.any(String);
    const before = { taskId, beforeMessageId: two?.messageId };
    const atEnd = { taskId, beforeMessageId: "" };
    expect(one?.fork).toBeUndefined();
    for (const [id, left] of [
      [first, before],
      [second, before],
      [last, atEnd],
    ] as const) {
      const [begun, next, ...more] = await historyOf(id);
      expect([begun?.fork, next?.fork, more]).toMatchObject([
        left,
        undefined,
        [],
      ]);
    }
    await expect(fork(crypto.randomUUID())).rejects.toMatchObject({
      code: -32_002,
    });
    const working = await open(editor, []);
    const [turn, refused] = await Promise.allSettled([
      editor.prompt(working, "text Busy.\nwait 600000"),
      editor
        .until(() => editor.text.endsWith("Busy."))
        .then(() => fork(working))
        .finally(() =>
          editor.agent.notify("session/cancel", { sessionId: working }),
        ),
    ]);
    expect(turn).toMatchObject({ value: "cancelled" });
    expect(refused).toMatchObject({
      reason: {
        code: -32_602,
        message: expect.stringContaining("has not ended its turn"),
      },
    });
  });

  it("I6: work in two windows of one directory", async () => {
    const one = start({});
    await one.prompt(await open(one, []), "text One.");
    const two = start({});
    await two.prompt(await open(two, []), "text Two.");
    expect([one.text, two.text]).toEqual(["One.", "Two."]);
  });

  it("take prompts of 5 MiB on their own server, and name the limit of another", async () => {
    const long = `text Hi.\n${"x".repeat(5 * 1024 * 1024)}`;
    const own = start({});
    expect(await own.prompt(await open(own, []), long)).toBe("end_turn");
    await stop();
    servers.push(
      await startServing(["--data", join(base, "data"), "--workspace", work]),
    );
    const editor = start({});
    const session = await open(editor, []);
    await expect(editor.prompt(session, long)).rejects.toMatchObject({
      code: -32_602,
      message: expect.stringMatching(
        /^the request is 5\d+ bytes: limit is 4194304; send less/,
      ),
    });
    expect(await editor.prompt(session, "text After.")).toBe("end_turn");
  });

  it("F15: answer requests by the digits of their ids", async () => {
    start({});
    // It would check the answers to requests that it did not send.
    editors.pop();
    const child = children.at(-1) ?? expect.fail("no child");
    let lines = "";
    child.stdout.on("data", (chunk) => (lines += chunk));
    const ids = ["9007199254740993", "-9007199254740995", "7", '"a"'];
    const params = JSON.stringify({
      protocolVersion: 1,
      _meta: { note: '{"id":9007199254740993}' },
    });
    for (const id of ids) {
      const request = `{"jsonrpc":"2.0","id":${id},"method":"initialize","params":${params}}`;
      // In two pieces, as pipes may give it.
      child.stdin.write(request.slice(0, 20));
      child.stdin.write(`${request.slice(20)}\n`);
    }
    await expect
      .poll(() => lines.match(/"id":[^,}]+/g)?.toSorted())
      .toEqual(ids.map((id) => `"id":${id}`).toSorted());
  });

  async function open(
    editor: Editor,
    mcpServers: McpServer[],
  ): Promise<string> {
    await editor.agent.request("initialize", { protocolVersion: 1 });
    const { sessionId } = await editor.agent.request("session/new", {
      cwd: work,
      mcpServers,
    });
    return sessionId;
  }

  function start(options: EditorOptions): Editor {
    const args = [MAIN, "acp", "--data", join(base, "data")];
    const child = spawn(process.execPath, args, {
      cwd: work,
      stdio: ["pipe", "pipe", "pipe"],
    });
    child.stderr.resume();
    children.push(child);
    const editor = new Editor(child.stdin, child.stdout, options);
    editors.push(editor);
    return editor;
  }

  /** Ends the run of the last editor, as an editor does. */
  async function stop(): Promise<void> {
    const child = children.at(-1);
    child?.stdin.end();
    if (child && child.exitCode === null) await once(child, "exit");
  }
});

function chosen(optionId: string) {
  return () =>
    Promise.resolve({ outcome: { outcome: "selected" as const, optionId } });
}

async function end(
  child: ChildProcessByStdio<Writable, Readable, Readable>,
): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}
