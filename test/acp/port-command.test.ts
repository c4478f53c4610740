import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { LEFT_TO_CI, variantsOf } from "../depth.ts";
import {
  type ServerProcess,
  startServing,
} from "../durability/crash/server-process.ts";
import { MAIN } from "../our-command.ts";
import { choose, Editor, type EditorOptions } from "./port/editor.ts";

describe("devtool acp", () => {
  let base: string;
  let work: string;
  const children: ChildProcessByStdio<Writable, Readable, Readable>[] = [];
  const editors: Editor[] = [];
  const servers: ServerProcess[] = [];

  beforeEach(async () => {
    base = temporaryDirectory();
    work = join(base, "work");
    await mkdir(work);
  });
  afterEach(async () => {
    const problems = editors.splice(0).flatMap((editor) => editor.problems);
    for (const child of children.splice(0)) await end(child);
    for (const server of servers.splice(0)) await server.kill();
    expect(problems).toEqual([]);
  });

  it("starts a server of its own, asks, and says how it ended", async () => {
    const { editor, child } = start({ onPermission: choose("allow_once") });
    const session = await editor.open(work);
    expect(
      await editor.prompt(session, "write made.txt made\ntext Done."),
    ).toBe("end_turn");
    expect(editor.text).toBe("Done.");
    expect(fileText(work, "made.txt")).toBe("made");
    child.stdin.end();
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  it("goes on with an open question after the server was killed", async () => {
    let server = await serve();
    const answer = Promise.withResolvers<void>();
    const { editor, errors } = start({
      onPermission: async (asked) => {
        await answer.promise;
        return choose("allow_once")(asked);
      },
    });
    const session = await editor.open(work);
    const ended = editor.prompt(
      session,
      "write asked.txt answered\ntext After.",
    );
    await editor.until(() =>
      editor.frames.some(
        ({ method }) => method === "session/request_permission",
      ),
    );
    await server.kill();
    server = await serve();
    answer.resolve();
    expect(await ended).toBe("end_turn");
    expect(editor.text).toBe("After.");
    expect(fileText(work, "asked.txt")).toBe("answered");
    expect(
      editor.frames.filter(
        ({ method }) => method === "session/request_permission",
      ),
    ).toHaveLength(1);
    expect(errors()).not.toContain("Error");
  });

  it.skipIf(LEFT_TO_CI !== "")(
    `says on standard error that the server is gone, and goes on when it is back${LEFT_TO_CI}`,
    async () => {
      const server = await serve();
      const { editor, says } = start();
      const session = await editor.open(work);
      const ended = editor.prompt(session, "text Before.\nwait 600000");
      await editor.until(() => editor.text === "Before.");
      await server.kill();
      await says("is gone: waiting");
      await serve();
      // The turn was cut: the task waits for its user, and says so.
      expect(await ended).toBe("end_turn");
      expect(editor.text).toContain("Send a message to go on");
      expect(await editor.prompt(session, "text And on.")).toBe("end_turn");
      expect(editor.text).toContain("And on.");
    },
  );

  it.skipIf(LEFT_TO_CI !== "")(
    `takes a question back that another client answered${LEFT_TO_CI}`,
    async () => {
      const { info } = await serve();
      const { editor } = start({
        onPermission: (_asked, signal) => untilAborted(signal),
      });
      const session = await editor.open(work);
      const ended = editor.prompt(
        session,
        "write other.txt by-another\ntext Went on.",
      );
      await editor.until(() =>
        editor.frames.some(
          ({ method }) => method === "session/request_permission",
        ),
      );
      const client = clientOf(info);
      const { tasks } = await client.tasks.listTasks({ contextId: session });
      const asked = editor.frames.find(
        ({ method }) => method === "session/request_permission",
      );
      const value = {
        toolCallId: callOf(asked),
        selectedOptionId: "proceed_once",
      };
      await client.tasks.sendMessage({
        message: {
          messageId: "other",
          parts: [{ content: { case: "confirmation", value } }],
        },
        taskId: tasks[0]?.id ?? "",
      });
      expect(await ended).toBe("end_turn");
      expect(editor.text).toBe("Went on.");
      expect(editor.frames).toContainEqual(
        expect.objectContaining({
          method: "$/cancel_request",
          params: { requestId: asked?.id },
        }),
      );
    },
  );

  it.each(variantsOf("protocols", ["connect", "grpc", "a2a"], 1))(
    "talks to a named server over %s",
    async (protocol) => {
      const { info } = await serve();
      const { editor } = start(
        { onPermission: choose("allow_once") },
        "--url",
        info.url,
        "--protocol",
        protocol,
      );
      const session = await editor.open("/a/directory/of/the/editor");
      expect(
        await editor.prompt(session, "write named.txt made\ntext Named."),
      ).toBe("end_turn");
      expect(editor.text).toBe("Named.");
      expect(fileText(work, "named.txt")).toBe("made");
    },
  );

  it.skipIf(LEFT_TO_CI !== "")(
    `offers the agents of the running server, or those that it is given${LEFT_TO_CI}`,
    async () => {
      const module = join(base, "echo.mjs");
      await writeFile(
        module,
        `async function* execute() { yield { case: "text", value: "I am echo." }; }
      export const agent = { about: { name: "Echo", description: "Echoes." }, open: () => ({ createExecutor: () => ({ execute }) }) };`,
      );
      await serve("--agent", "devtool", "--agent", `echo=${module}`);
      const { editor } = start();
      await editor.agent.request("initialize", { protocolVersion: 1 });
      const { sessionId, configOptions } = await editor.agent.request(
        "session/new",
        { cwd: work, mcpServers: [] },
      );
      const options = [{ value: "devtool" }, { value: "echo" }];
      expect(configOptions).toMatchObject([
        { id: "agent", currentValue: "devtool", options },
      ]);
      await editor.agent.request("session/set_config_option", {
        sessionId,
        configId: "agent",
        value: "echo",
      });
      await editor.prompt(sessionId, "text Not played.");
      expect(editor.text).toBe("I am echo.");
      const { editor: other } = start({}, "--agent", "echo");
      await other.agent.request("initialize", { protocolVersion: 1 });
      const opened = await other.agent.request("session/new", {
        cwd: work,
        mcpServers: [],
      });
      expect(opened.configOptions).toBeUndefined();
      await other.prompt(opened.sessionId, "text Not played.");
      expect(other.text).toBe("I am echo.");
    },
  );

  it("says which server does not answer", async () => {
    const { editor } = start({}, "--url", "http://127.0.0.1:1");
    await expect(editor.open(work)).rejects.toThrow(
      'the agent at "http://127.0.0.1:1" cannot be used: it was not reached',
    );
  });

  it("refuses a directory that is not there", async () => {
    const { editor } = start();
    await expect(editor.open(join(base, "none"))).rejects.toMatchObject({
      code: -32_602,
      message: `cwd "${join(base, "none")}" is not a directory: create it, or choose another`,
    });
  });

  async function serve(...flags: readonly string[]): Promise<ServerProcess> {
    const server = await startServing([
      "--data",
      join(base, "data"),
      "--workspace",
      work,
      ...flags,
    ]);
    servers.push(server);
    return server;
  }

  function start(
    options: EditorOptions = {},
    ...flags: readonly string[]
  ): Started {
    const args = [MAIN, "acp", "--data", join(base, "data"), ...flags];
    const child = spawn(process.execPath, args, {
      cwd: work,
      stdio: ["pipe", "pipe", "pipe"],
    });
    children.push(child);
    let printed = "";
    child.stderr.on("data", (chunk) => (printed += chunk));
    const editor = new Editor(child.stdin, child.stdout, options);
    editors.push(editor);
    const says = async (text: string): Promise<void> => {
      while (!printed.includes(text)) await once(child.stderr, "data");
    };
    return { editor, child, says, errors: () => printed };
  }
});

interface Started {
  readonly editor: Editor;
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly says: (text: string) => Promise<void>;
  readonly errors: () => string;
}

function callOf(frame: { readonly params?: unknown } | undefined): string {
  const { toolCall } = Object(frame?.params);
  return String(toolCall?.toolCallId);
}

async function untilAborted(
  signal: AbortSignal,
): Promise<{ readonly outcome: { readonly outcome: "cancelled" } }> {
  if (!signal.aborted) await once(signal, "abort");
  return { outcome: { outcome: "cancelled" } };
}

async function end(
  child: ChildProcessByStdio<Writable, Readable, Readable>,
): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}
