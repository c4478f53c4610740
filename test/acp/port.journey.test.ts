import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { pathToFileURL } from "node:url";
import type {
  McpServer,
  RequestPermissionRequest,
} from "@agentclientprotocol/sdk";
import { serveAcp, stdioStream } from "@devtool/acp/port";
import type { DevtoolClient } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { ApprovalMode } from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { variantsOf } from "../depth.ts";
import { choose, Editor, type EditorOptions } from "./port/editor.ts";

describe("the port as an ACP agent", () => {
  let workspace: string;
  let server: DevtoolServer;
  let client: DevtoolClient;
  const editors: Editor[] = [];

  beforeAll(async () => {
    workspace = temporaryDirectory();
    server = await serveCodingAgent({ workspace, sandbox: "none" });
    client = clientOf(server);
  });
  afterEach(async () => {
    const problems = editors.flatMap((editor) => editor.problems);
    for (const editor of editors.splice(0)) await editor[Symbol.asyncDispose]();
    expect(problems).toEqual([]);
  });
  afterAll(() => server.close());

  it("says what it can", async () => {
    const editor = start();
    const answer = await editor.agent.request("initialize", {
      protocolVersion: 1,
      clientCapabilities: {},
    });
    expect(answer).toMatchObject({
      protocolVersion: 1,
      authMethods: [],
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: {
          image: false,
          audio: false,
          embeddedContext: true,
        },
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
    expect(
      await editor.prompt(session, "write asked.txt new\ntext Done."),
    ).toBe("end_turn");
    expect(fileText(workspace, "asked.txt")).toBe("new");
    const path = join(workspace, "asked.txt");
    expect(
      editor.updates.find(({ sessionUpdate }) => sessionUpdate === "tool_call"),
    ).toMatchObject({
      name: "write_file",
      kind: "edit",
      status: "pending",
      rawInput: { file_path: "asked.txt", content: "new" },
    });
    expect(editor.updates).toContainEqual(
      expect.objectContaining({
        content: [{ type: "diff", path, newText: "new" }],
        locations: [{ path }],
      }),
    );
    expect(editor.updates).toContainEqual(
      expect.objectContaining({ status: "completed" }),
    );
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

  it("shows a call that the user declined as failed, and says that it was canceled", async () => {
    const editor = start({ onPermission: choose("reject_once") });
    const session = await editor.open(workspace);
    expect(
      await editor.prompt(session, "write declined.txt no\ntext Not written."),
    ).toBe("end_turn");
    expect(editor.updates).toContainEqual(
      expect.objectContaining({
        status: "failed",
        _meta: { "devtool.dev/status": "CANCELLED" },
      }),
    );
  });

  it.each(
    variantsOf(
      "odd answers",
      [
        '{"outcome":{"outcome":"declined","optionId":"proceed_once"}}',
        '{"outcome":{"optionId":"proceed_once"}}',
        '{"outcome":{"outcome":"selected","optionId":["proceed_once"]}}',
        '{"outcome":"proceed_once"}',
        "null",
      ],
      2,
    ),
  )("does not run a call where the client answers %s", async (answer) => {
    const editor = start({ onPermission: async () => JSON.parse(answer) });
    const session = await editor.open(workspace);
    expect(
      await editor.prompt(session, "write odd.txt no\ntext Not written."),
    ).toBe("end_turn");
    expect(existsSync(join(workspace, "odd.txt"))).toBe(false);
  });

  it("offers every option but the one that needs content, with its kind", async () => {
    const asked: RequestPermissionRequest[] = [];
    const editor = start({
      onPermission: (request) => {
        asked.push(request);
        return choose("allow_once")(request);
      },
    });
    const session = await editor.open(workspace);
    await editor.prompt(session, "write options.txt new");
    const options = asked[0]?.options.map(({ optionId, kind }) => [
      optionId,
      kind,
    ]);
    expect(options).toContainEqual(["proceed_once", "allow_once"]);
    expect(options).toContainEqual(["proceed_always", "allow_always"]);
    expect(options).toContainEqual(["cancel", "reject_once"]);
    expect(options?.map(([id]) => id)).not.toContain("modify_with_editor");
    expect(asked[0]?.toolCall).toMatchObject({
      title: "Create options.txt",
      kind: "edit",
      status: "pending",
    });
  });

  it("cancels the turn if the question is answered with cancelled", async () => {
    const editor = start({
      onPermission: async () => ({ outcome: { outcome: "cancelled" } }),
    });
    const session = await editor.open(workspace);
    expect(
      await editor.prompt(session, "write never.txt no\ntext Not said."),
    ).toBe("cancelled");
    expect(editor.text).toBe("");
  });

  it("declines a call if the client fails to answer", async () => {
    const editor = start({
      onPermission: () => Promise.reject(new Error("no dialog")),
    });
    const session = await editor.open(workspace);
    expect(
      await editor.prompt(session, "write unanswered.txt no\ntext Went on."),
    ).toBe("end_turn");
    expect(editor.text).toBe("Went on.");
    await expect(readFile(join(workspace, "unanswered.txt"))).rejects.toThrow(
      "ENOENT",
    );
  });

  it("sends thoughts, sources, plan and notices as ACP has them", async () => {
    const editor = start({ onPermission: choose("allow_once") });
    const session = await editor.open(workspace, { session: { notices: {} } });
    const plan = [
      { step: "Look", status: "completed" },
      { step: "Change", status: "in_progress" },
    ];
    const script = [
      "think",
      "cite https://example.com/a",
      `call update_plan ${JSON.stringify({ plan })}`,
      "fail 503 1",
    ];
    expect(
      await editor.prompt(session, [...script, "text End."].join("\n")),
    ).toBe("end_turn");
    expect(editor.updates).toContainEqual({
      sessionUpdate: "agent_thought_chunk",
      content: { type: "text", text: "**Subject 1**\nDescription 1." },
    });
    expect(editor.updates).toContainEqual({
      sessionUpdate: "agent_message_chunk",
      content: expect.objectContaining({
        type: "resource_link",
        uri: "https://example.com/a",
      }),
    });
    // F20: once, though the call that shows it has several versions.
    expect(
      editor.updates.filter(({ sessionUpdate }) => sessionUpdate === "plan"),
    ).toEqual([
      {
        sessionUpdate: "plan",
        entries: [
          { content: "Look", priority: "medium", status: "completed" },
          { content: "Change", priority: "medium", status: "in_progress" },
        ],
      },
    ]);
    expect(editor.updates).toContainEqual(
      expect.objectContaining({ sessionUpdate: "notice", severity: "warning" }),
    );
  });

  it("sends no notice to a client that did not ask for notices", async () => {
    const editor = start();
    const session = await editor.open(workspace);
    await editor.prompt(session, "fail 503 1\ntext End.");
    expect(editor.text).toBe("End.");
    expect(
      editor.updates.map(({ sessionUpdate }) => sessionUpdate),
    ).not.toContain("notice");
  });

  it("runs the slash command that a prompt is, and lists them all", async () => {
    const editor = start({ onPermission: choose("allow_once") });
    const session = await editor.open(workspace);
    expect(await editor.prompt(session, "/help")).toBe("end_turn");
    expect(editor.text).toContain("/help");
    const listed = editor.updates.find(
      ({ sessionUpdate }) => sessionUpdate === "available_commands_update",
    );
    expect(listed).toMatchObject({
      availableCommands: expect.arrayContaining([
        expect.objectContaining({ name: "help" }),
      ]),
    });
    expect(await editor.prompt(session, "/etc/passwd is a path")).toBe(
      "end_turn",
    );
  });

  it("says when the task failed, in its words", async () => {
    const editor = start();
    const session = await editor.open(workspace);
    await expect(editor.prompt(session, "fail 500")).rejects.toMatchObject({
      code: -32_603,
      message: expect.stringContaining("the scripted model failed"),
    });
    expect(await editor.prompt(session, "text Alive.")).toBe("end_turn");
  });

  it("lists sessions, and loads one with its history", async () => {
    const first = start({ onPermission: choose("allow_once") });
    const session = await first.open(workspace);
    await first.prompt(session, "write kept.txt kept\ntext Kept.");
    const editor = start();
    await editor.agent.request("initialize", {
      protocolVersion: 1,
      clientCapabilities: {},
    });
    const { sessions } = await editor.agent.request("session/list", {
      cwd: workspace,
    });
    expect(sessions).toContainEqual(
      expect.objectContaining({
        sessionId: session,
        cwd: workspace,
        title: expect.stringContaining("write kept.txt"),
      }),
    );
    await editor.agent.request("session/load", {
      sessionId: session,
      cwd: workspace,
      mcpServers: [],
    });
    expect(
      editor.updates.map(({ sessionUpdate }) => sessionUpdate).slice(0, 3),
    ).toEqual(["user_message_chunk", "tool_call", "agent_message_chunk"]);
    expect(await editor.prompt(session, "text Again.")).toBe("end_turn");
    expect(editor.text).toBe("Kept.Again.");
  });

  it("asks the open question of a session that is resumed, and shows where the answer leads", async () => {
    const first = start({ onPermission: () => new Promise(() => undefined) });
    const session = await first.open(workspace);
    void first
      .prompt(session, "write left.txt left\ntext Left and found.")
      .catch(() => undefined);
    await first.until(() =>
      first.frames.some(
        ({ method }) => method === "session/request_permission",
      ),
    );
    await first[Symbol.asyncDispose]();
    const editor = start({ onPermission: choose("allow_once") });
    await editor.agent.request("initialize", {
      protocolVersion: 1,
      clientCapabilities: {},
    });
    await editor.agent.request("session/resume", {
      sessionId: session,
      cwd: workspace,
      mcpServers: [],
    });
    await editor.until(() => editor.text === "Left and found.");
    expect(fileText(workspace, "left.txt")).toBe("left");
    expect(await editor.prompt(session, "text Next.")).toBe("end_turn");
  });

  it("forgets a session that is closed, after canceling what it does", async () => {
    const editor = start();
    const session = await editor.open(workspace);
    const ended = editor.prompt(session, "text Working.\nwait 600000");
    await editor.until(() => editor.text === "Working.");
    await editor.agent.request("session/close", { sessionId: session });
    expect(await ended).toBe("cancelled");
    await expect(editor.prompt(session, "text No.")).rejects.toMatchObject({
      code: -32_002,
    });
  });

  it("narrows the approval mode, and widens it again to the server's with a later prompt", async () => {
    const editor = start({ onPermission: choose("allow_once") });
    await editor.agent.request("initialize", {
      protocolVersion: 1,
      clientCapabilities: {},
    });
    const { sessionId, modes } = await editor.agent.request("session/new", {
      cwd: workspace,
      mcpServers: [],
    });
    expect(modes?.availableModes.map(({ id }) => id)).toEqual([
      "server",
      "default",
      "plan",
    ]);
    await editor.agent.request("session/set_mode", {
      sessionId,
      modeId: "plan",
    });
    expect(
      await editor.prompt(sessionId, "write planned.txt no\ntext Planned."),
    ).toBe("end_turn");
    await expect(readFile(join(workspace, "planned.txt"))).rejects.toThrow(
      "ENOENT",
    );
    await expect(
      editor.agent.request("session/set_mode", { sessionId, modeId: "yolo" }),
    ).rejects.toMatchObject({
      message: 'mode "yolo" does not exist: choose server, default, plan',
    });
    await editor.agent.request("session/set_mode", {
      sessionId,
      modeId: "server",
    });
    expect(await editor.prompt(sessionId, "write planned.txt yes")).toBe(
      "end_turn",
    );
    expect(fileText(workspace, "planned.txt")).toBe("yes");
    const { tasks } = await client.tasks.listTasks({ contextId: sessionId });
    const { task } = await client.tasks.getTask({ taskId: tasks[0]?.id ?? "" });
    expect(task?.sessionSettings?.approvalMode).toBe(ApprovalMode.YOLO);
  });

  it("offers the models that it was given", async () => {
    const editor = start(
      {},
      { models: ["conformance-first", "conformance-second"] },
    );
    const sessionId = await editor.open(workspace);
    const request = {
      sessionId,
      configId: "model",
      value: "conformance-first",
    };
    expect(
      await editor.agent.request("session/set_config_option", request),
    ).toMatchObject({
      configOptions: [
        { id: "model", category: "model", currentValue: "conformance-first" },
      ],
    });
    await editor.prompt(sessionId, "text With a model.");
    const { tasks } = await client.tasks.listTasks({ contextId: sessionId });
    const { task } = await client.tasks.getTask({ taskId: tasks[0]?.id ?? "" });
    expect(task?.history[0]?.model || task?.sessionSettings?.model).toBe(
      "conformance-first",
    );
    await editor.agent.request("session/set_config_option", {
      ...request,
      value: "conformance-second",
    });
    await editor.prompt(sessionId, "text With another.");
    const { tasks: later } = await client.tasks.listTasks({
      contextId: sessionId,
    });
    const { task: last } = await client.tasks.getTask({
      taskId: later[0]?.id ?? "",
    });
    expect([last?.model, last?.sessionSettings?.model]).toEqual([
      "conformance-second",
      "conformance-first",
    ]);
    await expect(
      editor.agent.request("session/set_config_option", {
        sessionId,
        configId: "model",
        value: "none",
      }),
    ).rejects.toMatchObject({
      message:
        'model "none" is not offered: choose server, conformance-first, conformance-second',
    });
  });

  it("sends the editor's unsaved text with a link to a file", async () => {
    const path = join(workspace, "open.ts");
    const editor = start({ buffers: { [path]: "unsaved" } });
    const sessionId = await editor.open(workspace, {
      fs: { readTextFile: true },
    });
    const link = {
      type: "resource_link",
      name: "open.ts",
      uri: `${pathToFileURL(path).href}#L2-L3`,
    } as const;
    const resource = {
      type: "resource",
      resource: {
        uri: "file:///b.md",
        text: "embedded",
        mimeType: "text/markdown",
      },
    } as const;
    await editor.agent.request("session/prompt", {
      sessionId,
      prompt: [{ type: "text", text: "text Hi." }, link, resource],
    });
    const { tasks } = await client.tasks.listTasks({ contextId: sessionId });
    const { task } = await client.tasks.getTask({ taskId: tasks[0]?.id ?? "" });
    expect(
      task?.history[0]?.parts.map(({ content, fileName }) => [
        content.value,
        fileName,
      ]),
    ).toEqual([
      ["text Hi.", ""],
      [`[open.ts](${link.uri})`, ""],
      ["unsaved", "open.ts"],
      ["[b.md](file:///b.md)", ""],
      ["embedded", "b.md"],
    ]);
  });

  it.each(
    variantsOf(
      "links",
      ["file:///w/100%.txt", "file:///w/%ZZ", "file:///w/%C3", "%"],
      1,
    ),
  )("F11: sends a link as text that cannot be decoded: %s", async (uri) => {
    const editor = start({ buffers: {} });
    const sessionId = await editor.open(workspace, {
      fs: { readTextFile: true },
    });
    await editor.agent.request("session/prompt", {
      sessionId,
      prompt: [
        { type: "text", text: "text Hi." },
        { type: "resource_link", name: "f", uri },
        { type: "resource", resource: { uri, text: "embedded" } },
      ],
    });
    const { tasks } = await client.tasks.listTasks({ contextId: sessionId });
    const taskId = tasks[0]?.id ?? "";
    const { task } = await client.tasks.getTask({ taskId });
    const texts = task?.history[0]?.parts.map(({ content }) => content.value);
    expect(texts?.[1]).toBe(`[f](${uri})`);
    expect(texts?.at(-1)).toBe("embedded");
    expect(editor.text).toBe("Hi.");
  });

  it("refuses a second prompt while one runs", async () => {
    const editor = start();
    const session = await editor.open(workspace);
    const ended = editor.prompt(session, "text Working.\nwait 600000");
    await editor.until(() => editor.text === "Working.");
    await expect(editor.prompt(session, "text Second.")).rejects.toMatchObject({
      code: -32_600,
      message: expect.stringContaining(
        "wait for its end, or cancel it with session/cancel",
      ),
    });
    await editor.agent.notify("session/cancel", { sessionId: session });
    expect(await ended).toBe("cancelled");
  });

  describe("given bad input", () => {
    const cases: readonly {
      readonly what: string;
      readonly method: string;
      readonly params: object;
      readonly error: object;
    }[] = [
      {
        what: "an unknown session",
        method: "session/prompt",
        params: {
          sessionId: "nobody",
          prompt: [{ type: "text", text: "Hi." }],
        },
        error: {
          code: -32_002,
          message:
            'session "nobody" does not exist: choose one of session/list, or start one with session/new',
        },
      },
      {
        what: "a session to load that is not there",
        method: "session/load",
        params: { sessionId: "nobody", cwd: "/", mcpServers: [] },
        error: { code: -32_002, data: { sessionId: "nobody" } },
      },
      {
        what: "a relative directory",
        method: "session/new",
        params: { cwd: "src", mcpServers: [] },
        error: {
          code: -32_602,
          message:
            'cwd "src" is not an absolute path: send the full path of the directory',
        },
      },
      {
        what: "no directory",
        method: "session/new",
        params: { mcpServers: [] },
        error: {
          code: -32_602,
          data: expect.objectContaining({ cwd: expect.anything() }),
        },
      },
      {
        what: "more directories",
        method: "session/new",
        params: { cwd: "/", mcpServers: [], additionalDirectories: ["/other"] },
        error: {
          code: -32_602,
          message: expect.stringContaining(
            'additionalDirectories "/other" is not supported',
          ),
        },
      },
      {
        what: "a method that is not there",
        method: "session/delete",
        params: { sessionId: "x" },
        error: { code: -32_601 },
      },
    ];
    it.each(cases)("names $what", async ({ method, params, error }) => {
      const editor = start();
      await editor.agent.request("initialize", {
        protocolVersion: 1,
        clientCapabilities: {},
      });
      await expect(editor.agent.request(method, params)).rejects.toMatchObject(
        error,
      );
    });

    it("names a block that the agent does not take", async () => {
      const editor = start();
      const sessionId = await editor.open(workspace);
      const image = {
        type: "image",
        data: "AAAA",
        mimeType: "image/png",
      } as const;
      await expect(
        editor.agent.request("session/prompt", { sessionId, prompt: [image] }),
      ).rejects.toMatchObject({
        code: -32_602,
        message:
          'prompt[0] is "image/png", which the agent does not accept: send text/plain, application/json',
      });
    });

    it("F0: goes on without an MCP server that the operator does not allow, and names it", async () => {
      const editor = start();
      await editor.agent.request("initialize", {
        protocolVersion: 1,
        clientCapabilities: {},
      });
      const mcpServers: McpServer[] = [
        { name: "tools", command: "run-me", args: [], env: [] },
      ];
      const { sessionId } = await editor.agent.request("session/new", {
        cwd: workspace,
        mcpServers,
      });
      expect(await editor.prompt(sessionId, "text Hi.")).toBe("end_turn");
      expect(editor.text).toMatch(
        /"tools".*clients may not add servers that run a command.*Hi\.$/s,
      );
    });
  });

  function start(
    options: EditorOptions = {},
    served: Partial<Parameters<typeof serveAcp>[0]> = {},
  ): Editor {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const agent = {
      name: "test",
      version: "1",
      inputModes: ["text/plain", "application/json"],
      hasExtension: true,
    };
    void serveAcp(
      {
        stream: stdioStream(input, output),
        connect: async (cwd) => ({
          client,
          workspace: cwd ?? workspace,
          agent,
        }),
        ...served,
      },
      new AbortController().signal,
    );
    const editor = new Editor(input, output, options);
    editors.push(editor);
    return editor;
  }
});
