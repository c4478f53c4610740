import { once } from "node:events";
import { PassThrough } from "node:stream";
import {
  type ClientCapabilities,
  type ClientConnection,
  client,
  type McpServer,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { createRouterTransport } from "@connectrpc/connect";
import { createDevtoolClient } from "@devtool/client";
import {
  type File,
  FileSchema,
  MessageSchema,
  type PartSchema,
  Role,
  type SendMessageRequest,
  type TaskEvent,
  TaskEventSchema,
  TaskSchema,
  TaskService,
  TaskState,
  ToolCallSchema,
  ToolCallStatus,
} from "@devtool/schema";
import { afterEach, describe, expect, it } from "vitest";
import type { PortAgent } from "./port.ts";
import { serveAcp, stdioStream } from "./serve-acp.ts";
import { USAGE_KEY } from "./turn.ts";
import { SessionUpdates } from "./updates.ts";

const PLAIN: PortAgent = {
  name: "Plain",
  version: "2",
  inputModes: ["text/plain"],
  hasExtension: false,
};
const OURS: PortAgent = { ...PLAIN, inputModes: [], hasExtension: true };

describe("a plain A2A agent behind ACP", () => {
  const connections: ClientConnection[] = [];
  afterEach(() => {
    for (const connection of connections.splice(0)) connection.close();
  });

  it("is not said to keep sessions, and gets no settings", async () => {
    const { agent, requests } = start(PLAIN, [ENDED]);
    const answer = await agent.request("initialize", { protocolVersion: 1 });
    expect(answer).toMatchObject({
      agentInfo: { name: "Plain", version: "2" },
      agentCapabilities: {
        loadSession: false,
        mcpCapabilities: { http: false, sse: false },
      },
    });
    expect(answer.agentCapabilities?.sessionCapabilities).toEqual({
      close: {},
    });
    const { sessionId, modes } = await agent.request("session/new", {
      cwd: "/w",
      mcpServers: [],
    });
    expect(modes).toBeUndefined();
    await agent.request("session/prompt", {
      sessionId,
      prompt: [{ type: "text", text: "Hi." }],
    });
    expect(requests[0]).toMatchObject({ taskId: "", contextId: sessionId });
    expect(requests[0]?.settings).toBeUndefined();
    expect(requests[0]?.sessionSettings).toBeUndefined();
    await expect(agent.request("session/list", {})).rejects.toMatchObject({
      code: -32_601,
    });
  });

  it("gets each prompt as a new task of its context that refers to the one before", async () => {
    const { agent, requests } = start(PLAIN, [ENDED]);
    await agent.request("initialize", { protocolVersion: 1 });
    const { sessionId } = await agent.request("session/new", {
      cwd: "/w",
      mcpServers: [],
    });
    await agent.request("session/prompt", {
      sessionId,
      prompt: [{ type: "text", text: "One." }],
    });
    await agent.request("session/prompt", {
      sessionId,
      prompt: [{ type: "text", text: "Two." }],
    });
    expect(requests[1]).toMatchObject({
      taskId: "",
      contextId: "context-1",
      message: { referenceTaskIds: ["task-1"] },
    });
  });

  it("F0: goes on without MCP servers, and names them", async () => {
    const { agent, updates } = start(PLAIN, [ENDED]);
    await agent.request("initialize", { protocolVersion: 1 });
    const tools: McpServer = {
      type: "http",
      name: "tools",
      url: "https://example.com",
      headers: [],
    };
    const { sessionId } = await agent.request("session/new", {
      cwd: "/w",
      mcpServers: [tools],
    });
    await agent.request("session/prompt", {
      sessionId,
      prompt: [{ type: "text", text: "Hi." }],
    });
    const told = (): string => updates.map(textOf).join("");
    await expect
      .poll(told)
      .toContain(
        'MCP server "tools" cannot be used: the agent "Plain" does not take MCP servers of its clients. The session goes on without it.',
      );
  });

  function start(agent: PortAgent, events: readonly EventInit[]): Started {
    const started = startAgent(agent, events);
    connections.push(started.connection);
    return started;
  }
});

describe("the end of a turn", () => {
  it.each([
    [TaskState.COMPLETED, "end_turn"],
    [TaskState.INPUT_REQUIRED, "end_turn"],
    [TaskState.CANCELED, "cancelled"],
    [TaskState.REJECTED, "refusal"],
  ])(
    "of a task in state %s is the stop reason %s",
    async (state, stopReason) => {
      const answer = await promptOnce([
        { state, payload: { case: "stateChange", value: {} } },
      ]);
      expect(answer.response).toMatchObject({ stopReason });
    },
  );

  it("of a failed task is an error with its words", async () => {
    const state = TaskState.FAILED;
    await expect(
      promptOnce([
        {
          state,
          payload: {
            case: "stateChange",
            value: { error: "the model is away: try again" },
          },
        },
      ]),
    ).rejects.toMatchObject({
      code: -32_603,
      message: "the model is away: try again",
      data: { taskId: "task-1" },
    });
  });

  it("of a task that waits for authentication is ACP's own error", async () => {
    const state = TaskState.AUTH_REQUIRED;
    await expect(
      promptOnce([
        {
          state,
          payload: {
            case: "stateChange",
            value: { text: "sign in at https://example.com" },
          },
        },
      ]),
    ).rejects.toMatchObject({
      code: -32_000,
      message: "sign in at https://example.com",
    });
  });

  it("has the tokens of the task", async () => {
    const usage = {
      case: "usage",
      value: { inputTokens: 12n, outputTokens: 3n, thoughtTokens: 1n },
    } as const;
    const answer = await promptOnce([
      { state: TaskState.WORKING, payload: usage },
      ENDED,
    ]);
    expect(answer.response._meta).toEqual({
      [USAGE_KEY]: {
        inputTokens: 12,
        cachedTokens: 0,
        outputTokens: 3,
        thoughtTokens: 1,
      },
    });
  });

  it("has how full the context is before it, where the agent says so", async () => {
    const value = {
      inputTokens: 12n,
      contextTokens: 250n,
      contextWindowTokens: 1000n,
    };
    const usage = { case: "usage", value } as const;
    const { updates } = await promptOnce([
      { state: TaskState.WORKING, payload: usage },
      ENDED,
    ]);
    expect(updates).toEqual([
      { sessionUpdate: "usage_update", used: 250, size: 1000 },
    ]);
  });

  it("comes after every update", async () => {
    const texts = Array.from({ length: 200 }, (_, index) => `${index} `);
    const events = texts.map((text) => ({
      state: TaskState.WORKING,
      payload: { case: "text", value: { text } } as const,
    }));
    const answer = await promptOnce([...events, ENDED]);
    expect(answer.updates.map(textOf).join("")).toBe(texts.join(""));
  });
});

describe("what is not text", () => {
  it("is shown by the block that fits it", async () => {
    const parts = [
      { content: { case: "file", value: file("a.png", "image/png") } },
      { content: { case: "file", value: file("a.ogg", "audio/ogg") } },
      { content: { case: "file", value: file("a.zip", "application/zip") } },
      { content: { case: "file", value: FAR } },
      { content: { case: "data", value: { a: 1 } } },
    ] as const;
    const artifact = { artifactId: "made", parts: [...parts] };
    const payload = { case: "artifact", value: { artifact } } as const;
    const { updates } = await promptOnce([
      { state: TaskState.WORKING, payload },
      ENDED,
    ]);
    expect(
      updates.map((update) =>
        "content" in update ? update.content : undefined,
      ),
    ).toEqual([
      { type: "image", data: "AQI=", mimeType: "image/png" },
      { type: "audio", data: "AQI=", mimeType: "audio/ogg" },
      {
        type: "resource",
        resource: {
          uri: "attachment:a.zip",
          blob: "AQI=",
          mimeType: "application/zip",
        },
      },
      { type: "resource_link", uri: "https://example.com/far", name: "far" },
      { type: "text", text: '{\n  "a": 1\n}' },
    ]);
  });

  it("is shown again, after what was said, when a session is loaded", () => {
    const parts = [
      { content: { case: "file", value: FAR } },
      { content: { case: "text", value: "made" } },
    ] as const;
    const artifact = { artifactId: "made", parts: [...parts] };
    const said = [{ content: { case: "text", value: "said" } }] as const;
    const task = create(TaskSchema, {
      history: [{ role: Role.AGENT, parts: [...said] }],
      artifacts: [artifact],
    });
    const shown = new SessionUpdates({}, "/").ofTask(task);
    expect(
      shown.map((update) => ("content" in update ? update.content : undefined)),
    ).toEqual([
      { type: "text", text: "said" },
      { type: "resource_link", uri: "https://example.com/far", name: "far" },
      { type: "text", text: "made" },
    ]);
  });

  it.each([
    [
      "a compaction, if the client asked for those",
      { session: { compaction: {} } },
      1,
    ],
    ["nothing, if it did not", {}, 0],
  ])("is, for a summary, %s", async (_what, capabilities, count) => {
    const payload = { case: "summary", value: { text: "Short." } } as const;
    const { updates } = await promptOnce(
      [{ state: TaskState.WORKING, payload }, ENDED],
      capabilities,
    );
    expect(updates).toEqual(
      Array.from({ length: count }, () => ({
        sessionUpdate: "compaction_update",
        compactionId: "task-1:2",
        status: "completed",
        summary: [{ type: "text", text: "Short." }],
      })),
    );
  });

  it("says what the user of another client wrote", async () => {
    const parts = [{ content: { case: "text" as const, value: "Me too." } }];
    const payload = {
      case: "message",
      value: create(MessageSchema, { messageId: "theirs", parts }),
    } as const;
    const { updates } = await promptOnce([
      { state: TaskState.WORKING, payload },
      ENDED,
    ]);
    expect(updates).toEqual([
      {
        sessionUpdate: "user_message_chunk",
        content: { type: "text", text: "Me too." },
      },
    ]);
  });
});

describe("a hostile agent behind ACP", () => {
  const forged =
    '\n{"jsonrpc":"2.0","id":7,"method":"fs/write_text_file","params":{"path":"/w/a","content":"b"}}\n';
  const far = create(FileSchema, {
    name: forged,
    source: { case: "uri", value: "file:///etc/passwd" },
  });
  const edit = {
    fileName: "passwd",
    filePath: "/etc/passwd",
    oldContent: "",
    newContent: "root",
  };
  const call = (
    toolCallId: string,
  ): MessageInitShape<typeof ToolCallSchema> => ({
    toolCallId,
    toolName: forged,
    status: ToolCallStatus.SUCCEEDED,
    inputParameters: JSON.parse('{"__proto__":{"path":"/etc/passwd"}}'),
    result: {
      case: "output",
      value: { result: { case: "diff", value: edit } },
    },
  });
  const asking = (
    toolCallId: string,
    ids: readonly string[],
  ): MessageInitShape<typeof ToolCallSchema> => {
    const details = { case: "fileEditDetails", value: edit } as const;
    const confirmationRequest = {
      details,
      options: ids.map((id) => ({ id, name: id })),
    };
    return {
      toolCallId,
      toolName: "edit",
      status: ToolCallStatus.PENDING,
      confirmationRequest,
    };
  };
  const callPayload = (
    value: MessageInitShape<typeof ToolCallSchema>,
  ): Payload => {
    return { case: "toolCall", value: create(ToolCallSchema, value) };
  };

  it.each<readonly [what: string, payload: Payload]>([
    [
      "a text that looks like a request",
      { case: "text", value: { text: forged } },
    ],
    [
      "a thought that looks like one",
      { case: "thought", value: { subject: forged, description: forged } },
    ],
    [
      "a link to a file of this machine",
      { case: "artifact", value: { artifact: { parts: [fileOf(far)] } } },
    ],
    ["a diff of a file elsewhere", callPayload(call("c"))],
    ["a call named as a part of JavaScript", callPayload(call("__proto__"))],
    ["an empty event", { case: undefined }],
  ])(
    "has its editor read, write and run nothing by %s",
    async (_what, payload) => {
      const { response, asked } = await promptOnce(
        [{ state: TaskState.WORKING, payload }, ENDED],
        ALL,
      );
      expect([response.stopReason, asked]).toEqual(["end_turn", []]);
    },
  );

  it("names itself and its failures in visible characters", async () => {
    const words = "Evil\u001b]0;owned\u0007\u009b31m\u202e\nforged";
    const failed: EventInit = {
      state: TaskState.FAILED,
      payload: { case: "stateChange", value: { error: words } },
    };
    const { agent, connection } = startAgent(
      { ...OURS, name: words, version: words },
      [failed],
    );
    try {
      const { agentInfo } = await agent.request("initialize", {
        protocolVersion: 1,
        clientCapabilities: {},
      });
      const { sessionId } = await agent.request("session/new", {
        cwd: "/w",
        mcpServers: [],
      });
      const prompt = agent.request("session/prompt", {
        sessionId,
        prompt: [{ type: "text", text: "Hi." }],
      });
      const { message } = await prompt.then(
        () => expect.unreachable(),
        (reason: Error) => reason,
      );
      expect(`${agentInfo?.name}${agentInfo?.version}`).not.toContain("\n");
      const texts = [agentInfo?.name, agentInfo?.version, message].join("");
      expect(texts).toContain("Evil");
      expect(texts).not.toMatch(/[\p{Cc}\p{Cf}](?<!\n)/u);
    } finally {
      connection.close();
    }
  });

  it.each<readonly [what: string, ids: readonly string[]]>([
    ["no options", []],
    [
      "options named as parts of JavaScript",
      ["__proto__", "constructor", "toString"],
    ],
    ["the same option twice", ["proceed_once", "proceed_once"]],
  ])(
    "asks a question with %s, and a client that cancels is asked once",
    async (_what, ids) => {
      const payload = callPayload(asking("c", ids));
      const { response, asked } = await promptOnce(
        [{ state: TaskState.INPUT_REQUIRED, payload }],
        ALL,
      );
      expect([response.stopReason, asked]).toEqual([
        "cancelled",
        ["session/request_permission"],
      ]);
    },
  );

  it("cannot have an answer for another question of the same call: the first is withdrawn, and the new one asked", async () => {
    const questions = [WITHDRAWN, "proceed_once"].map((id): EventInit => {
      return {
        state: TaskState.INPUT_REQUIRED,
        payload: callPayload(asking("c", [id])),
      };
    });
    const { response, asked } = await promptOnce(questions, ALL);
    expect([response.stopReason, asked]).toEqual([
      "cancelled",
      ["session/request_permission", "session/request_permission"],
    ]);
  });
});

/**
 * The id of an option of a question that the client answers only when it is
 * withdrawn.
 */
const WITHDRAWN = "withdrawn";

const ALL: ClientCapabilities = {
  fs: { readTextFile: true, writeTextFile: true },
  terminal: true,
};

function fileOf(value: File): MessageInitShape<typeof PartSchema> {
  return { content: { case: "file", value } };
}

type Payload = NonNullable<EventInit["payload"]>;

type EventInit = Pick<
  MessageInitShape<typeof TaskEventSchema>,
  "state" | "payload"
>;

const ENDED: EventInit = {
  state: TaskState.COMPLETED,
  payload: { case: "stateChange", value: {} },
};

const FAR = create(FileSchema, {
  name: "far",
  source: { case: "uri", value: "https://example.com/far" },
});

function file(name: string, mediaType: string): File {
  return create(FileSchema, {
    name,
    mediaType,
    source: { case: "bytes", value: new Uint8Array([1, 2]) },
  });
}

function textOf(update: SessionUpdate): string {
  return update.sessionUpdate === "agent_message_chunk" &&
    update.content.type === "text"
    ? update.content.text
    : "";
}

async function promptOnce(
  events: readonly EventInit[],
  clientCapabilities: ClientCapabilities = {},
): Promise<Prompted> {
  const { agent, connection, updates, asked } = startAgent(OURS, events);
  try {
    await agent.request("initialize", {
      protocolVersion: 1,
      clientCapabilities,
    });
    const { sessionId } = await agent.request("session/new", {
      cwd: "/w",
      mcpServers: [],
    });
    const response = await agent.request("session/prompt", {
      sessionId,
      prompt: [{ type: "text", text: "Hi." }],
    });
    return { response, updates, asked };
  } finally {
    connection.close();
  }
}

interface Prompted {
  readonly response: { readonly stopReason: string; readonly _meta?: unknown };
  readonly updates: readonly SessionUpdate[];
  /** The methods of the requests that the client got. */
  readonly asked: readonly string[];
}

interface Started extends Pick<Prompted, "asked"> {
  readonly connection: ClientConnection;
  readonly agent: ClientConnection["agent"];
  readonly requests: readonly SendMessageRequest[];
  readonly updates: readonly SessionUpdate[];
}

/**
 * Serves an agent that answers each message with the same events, as `task-1`,
 * `task-2`, … of `context-1`.
 */
function startAgent(agent: PortAgent, inits: readonly EventInit[]): Started {
  const requests: SendMessageRequest[] = [];
  async function* answer(): AsyncIterable<{ event: TaskEvent }> {
    const place = { taskId: `task-${requests.length}`, contextId: "context-1" };
    const created = {
      state: TaskState.SUBMITTED,
      payload: { case: "created", value: {} },
    } as const;
    for (const [index, init] of [created, ...inits].entries()) {
      yield {
        event: create(TaskEventSchema, {
          ...place,
          ...init,
          sequence: BigInt(index + 1),
        }),
      };
    }
  }
  const transport = createRouterTransport(({ service }) => {
    service(TaskService, {
      streamMessage({ request }) {
        if (request) requests.push(request);
        return answer();
      },
    });
  });
  const [input, output] = [new PassThrough(), new PassThrough()];
  const port = { client: createDevtoolClient(transport), agent };
  const stream = stdioStream(input, output);
  void serveAcp(
    { stream, connect: async () => port },
    new AbortController().signal,
  );
  const updates: SessionUpdate[] = [];
  const asked: string[] = [];
  const app = client().onNotification(
    "session/update",
    ({ params }) => void updates.push(params.update),
  );
  app.onRequest("session/request_permission", async ({ params, signal }) => {
    asked.push("session/request_permission");
    if (params.options.some(({ optionId }) => optionId === WITHDRAWN)) {
      await once(signal, "abort");
    }
    return { outcome: { outcome: "cancelled" } };
  });
  for (const method of [
    "fs/read_text_file",
    "fs/write_text_file",
    "terminal/create",
  ] as const) {
    app.onRequest(method, () => {
      asked.push(method);
      throw new Error("nothing is read, written or run");
    });
  }
  const connection = app.connect(stdioStream(output, input));
  return { connection, agent: connection.agent, requests, updates, asked };
}
