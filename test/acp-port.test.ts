import { mkdtemp, readFile, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { createConnectTransport } from "@connectrpc/connect-node";
import { serveAcp, stdioStream } from "@devtool/acp/port";
import { bearerInterceptor, createDevtoolClient, type DevtoolClient } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { choose, Editor, type EditorOptions } from "./acp-port/editor.ts";

describe("the port as an ACP agent", () => {
  let workspace: string;
  let server: DevtoolServer;
  let client: DevtoolClient;
  const editors: Editor[] = [];

  beforeAll(async () => {
    workspace = await realpath(await mkdtemp(join(tmpdir(), "devtool-acp-")));
    server = await serveCodingAgent({ workspace, sandbox: "none" });
    const { url: baseUrl, token } = server;
    const interceptors = [bearerInterceptor(token)];
    client = createDevtoolClient(createConnectTransport({ baseUrl, httpVersion: "1.1", interceptors }));
  });
  afterEach(async () => {
    const problems = editors.flatMap((editor) => editor.problems);
    for (const editor of editors.splice(0)) await editor[Symbol.asyncDispose]();
    expect(problems).toEqual([]);
  });
  afterAll(async () => {
    await server.close();
    await rm(workspace, { recursive: true });
  });

  it("says what it can", async () => {
    const editor = start();
    const answer = await editor.agent.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
    expect(answer).toMatchObject({
      protocolVersion: 1,
      authMethods: [],
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: false, audio: false, embeddedContext: true },
        mcpCapabilities: { http: true, sse: true },
        sessionCapabilities: { list: {}, resume: {}, close: {} },
      },
    });
  });

  it("streams text and ends the turn", async () => {
    const editor = start();
    const session = await editor.open(workspace);
    expect(await editor.prompt(session, "text Hello.")).toBe("end_turn");
    expect(editor.text).toBe("Hello.");
  });

  it("asks before a tool runs, and shows its diff and its end", async () => {
    const editor = start({ onPermission: choose("allow_once") });
    const session = await editor.open(workspace);
    expect(await editor.prompt(session, "write asked.txt new\ntext Done.")).toBe("end_turn");
    expect(await readFile(join(workspace, "asked.txt"), "utf8")).toBe("new");
    const path = join(workspace, "asked.txt");
    expect(editor.updates.find(({ sessionUpdate }) => sessionUpdate === "tool_call")).toMatchObject({
      name: "write_file",
      kind: "edit",
      status: "pending",
      rawInput: { file_path: "asked.txt", content: "new" },
    });
    expect(editor.updates).toContainEqual(
      expect.objectContaining({ content: [{ type: "diff", path, newText: "new" }], locations: [{ path }] }),
    );
    expect(editor.updates).toContainEqual(expect.objectContaining({ status: "completed" }));
    expect(editor.text).toBe("Done.");
  });

  it("cancels the task", async () => {
    const editor = start();
    const session = await editor.open(workspace);
    const ended = editor.prompt(session, "text Working.\nwait 600000");
    await editor.until(() => editor.text === "Working.");
    await editor.agent.notify("session/cancel", { sessionId: session });
    expect(await ended).toBe("cancelled");
  });

  function start(options: EditorOptions = {}): Editor {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const agent = { name: "test", version: "1", inputModes: ["text/plain", "application/json"], hasExtension: true };
    void serveAcp(
      { stream: stdioStream(input, output), connect: async (cwd) => ({ client, workspace: cwd ?? workspace, agent }) },
      new AbortController().signal,
    );
    const editor = new Editor(input, output, options);
    editors.push(editor);
    return editor;
  }
});
