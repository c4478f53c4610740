import {
  create,
  type JsonObject,
  type JsonValue,
  type MessageInitShape,
  toJson,
} from "@bufbuild/protobuf";
import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect";
import {
  ApprovalMode,
  ListTasksResponseSchema,
  type Replay,
  ReplaySchema,
  type SendMessageRequest,
  type SendMessageRequestSchema,
  type TaskEvent,
  TaskEventSchema,
  TaskService,
  TaskState,
} from "@devtool/schema";
import { encodeStreamFrame, withReplay } from "@devtool/schema/a2a-v03";
import { describe, expect, it } from "vitest";
import { textMessage } from "../confirmation.ts";
import { createDevtoolClient } from "../devtool-client.ts";
import { streamMessage, subscribeTask } from "../follow.ts";
import type { ExtensionUse } from "./endpoint.ts";
import { KnownTasks } from "./known-tasks.ts";
import type { Frame } from "./rpc-endpoint.ts";
import { createA2aTaskService } from "./tasks.ts";

const message = textMessage("m1", "Hello.");
const { signal } = new AbortController();

describe("N1: an agent without the extension", () => {
  it.each<MessageInitShape<typeof SendMessageRequestSchema>>([
    { sessionSettings: { allowedTools: ["read_file"] } },
    { sessionSettings: { approvalMode: ApprovalMode.PLAN } },
    { sessionSettings: { model: "m" } },
    { sessionSettings: { mcpServers: [{ name: "docs" }] } },
    { sessionSettings: { agentOptions: { effort: "high" } } },
    { messageSettings: { turn: {} } },
  ])("is not sent what it would ignore: %j", async (settings) => {
    const { client, openedStreams } = agent([[]], "none");
    const request = { ...settings, message };
    await expect(client.tasks.sendMessage(request)).rejects.toThrow(
      "does not have the development-tool extension, so it would ignore it",
    );
    const stream = client.tasks.streamMessage({ request });
    await expect(stream[Symbol.asyncIterator]().next()).rejects.toThrow(
      "would ignore it",
    );
    expect(openedStreams()).toBe(0);
  });
});

describe("I37: an agent that lists the extension", () => {
  const settings = { sessionSettings: { allowedTools: ["read_file"] } };
  async function notices(first: Frame, more: object): Promise<string[]> {
    const { client } = agent([[first, ended(3)]]);
    const texts: string[] = [];
    const request = { message, ...more };
    for await (const { event } of client.tasks.streamMessage({ request })) {
      const payload = event?.payload;
      if (payload?.case === "notice") texts.push(payload.value.text);
    }
    return texts;
  }
  const task = plain({ kind: "task", id: "t1", status: { state: "working" } });

  it("is doubted if it answers settings without it", async () => {
    expect(await notices(task, settings)).toEqual([
      expect.stringContaining("it may ignore allowed_tools"),
    ]);
  });

  it("is not doubted if it answers with it, or was asked for nothing", async () => {
    const first = frame(1, TaskState.WORKING, {
      case: "created",
      value: { message, sessionSettings: settings.sessionSettings },
    });
    expect(await notices(first, settings)).toEqual([]);
    expect(await notices(task, {})).toEqual([]);
  });
});

describe("the replay of an exchange over A2A", () => {
  it("is reported once, with the first event of its frame", async () => {
    const streams = [[opened(1, MARK), text(2, "Hi."), ended(3)]];
    expect(await sent(streams)).toEqual({
      events: ["1 created", "2 text", "3 stateChange"],
      replays: [["m1", 0]],
    });
  });

  it("is not reported for an exchange without the mark", async () => {
    const streams = [[opened(1), text(2, "Hi."), ended(3)]];
    expect((await sent(streams)).replays).toEqual([]);
  });

  it("is reported with the first event of a frame that stands for several", async () => {
    const said = {
      kind: "message",
      messageId: "m2",
      role: "agent",
      parts: [{ kind: "text", text: "Hi." }],
    };
    const update = {
      kind: "status-update",
      status: { state: "completed", message: said },
      metadata: MARK,
    };
    const streams = [[plain(update)]];
    expect(await sent(streams)).toEqual({
      events: ["1 text", "2 stateChange"],
      replays: [["m1", 0]],
    });
  });

  it("is reported with the next event if its frame shows none", async () => {
    const silent = {
      kind: "artifact-update",
      artifact: { artifactId: "a", parts: [] },
      metadata: MARK,
    };
    const streams = [
      [
        plain(silent),
        plain({ kind: "status-update", status: { state: "completed" } }),
      ],
    ];
    expect((await sent(streams)).replays).toEqual([["m1", 0]]);
  });

  it("is reported when the message is sent again after a connection that broke before its first event", async () => {
    const streams = [
      [new ConnectError("reset", Code.Unavailable)],
      [opened(1, MARK), text(2, "Hi."), ended(3)],
    ];
    expect(await sent(streams)).toEqual({
      events: ["1 created", "2 text", "3 stateChange"],
      replays: [["m1", 0]],
    });
  });

  it("goes on with the log, without a second report, after a connection that broke in the middle", async () => {
    const streams = [
      [
        opened(1, MARK),
        text(2, "Hi."),
        new ConnectError("reset", Code.Unavailable),
      ],
      [text(3, "Ho."), ended(4)],
    ];
    expect(await sent(streams)).toEqual({
      events: ["1 created", "2 text", "3 text", "4 stateChange"],
      replays: [["m1", 0]],
    });
  });

  it("shows no event twice that a server sends twice", async () => {
    const streams = [
      [
        opened(1, MARK),
        text(2, "Hi."),
        text(2, "Hi."),
        text(3, "Ho."),
        ended(4),
      ],
    ];
    expect(await sent(streams)).toEqual({
      events: ["1 created", "2 text", "3 text", "4 stateChange"],
      replays: [["m1", 0]],
    });
  });
});

describe("the log of a task over A2A", () => {
  it("has no replay, whatever its frames are marked with", async () => {
    const { client } = agent([[opened(1, MARK), ended(2)]]);
    const events: TaskEvent[] = [];
    for await (const event of subscribeTask(client, { taskId: "t1" }, signal)) {
      events.push(event);
    }
    expect(events.map(describeEvent)).toEqual(["1 created", "2 stateChange"]);
  });
});

describe("I37: an agent that leaves kinds out", () => {
  const said = (id: string, text: string) => ({
    kind: "message",
    messageId: id,
    role: "agent",
    parts: [
      { kind: "text", text },
      { kind: "data", data: { a: 1 } },
      { kind: "file", file: { uri: "https://a.example/" } },
    ],
  });
  const artifact = { artifactId: "a", parts: [{ kind: "text", text: "3" }] };
  const place = { taskId: "t1", contextId: "c1" };
  const WORK = [
    {
      kind: "task",
      id: "t1",
      contextId: "c1",
      status: { state: "working", message: said("m2", "1") },
      history: [said("m3", "2")],
      artifacts: [artifact],
    },
    {
      kind: "artifact-update",
      ...place,
      artifact: { ...artifact, artifactId: "b" },
    },
    {
      kind: "status-update",
      ...place,
      status: { state: "working", message: said("m4", "4") },
    },
    { kind: "status-update", ...place, status: { state: "completed" } },
  ];
  const REPLY = [{ ...said("m5", "5"), ...place }];

  /** The events of a stream, as JSON. */
  async function read(frames: readonly JsonValue[]): Promise<string> {
    const streams = [frames.map((result) => ({ result, id: undefined }))];
    const { client } = agent(streams, "none");
    const events: TaskEvent[] = [];
    for await (const event of streamMessage(client, { message }, signal)) {
      events.push(event);
    }
    return JSON.stringify(events.map((each) => toJson(TaskEventSchema, each)));
  }

  it.each([WORK, REPLY])("is read as one that has them", async (...frames) => {
    const whole = await read(frames);
    const json = JSON.stringify(frames);
    const kinds = [...json.matchAll(/"kind":"[^"]*",/g)];
    expect(kinds.length).toBeGreaterThan(3);
    const without = kinds.map(({ 0: kind, index }) =>
      JSON.parse(json.slice(0, index) + json.slice(index + kind.length)),
    );
    for (const odd of [
      ...without,
      JSON.parse(json.replaceAll(/"kind":"[^"]*",/g, "")),
    ]) {
      expect(await read(odd)).toBe(whole);
    }
    const nulls = JSON.parse(json.replaceAll(/"kind":"[^"]*"/g, '"kind":null'));
    expect(await read(nulls)).toBe(whole);
  });
});

const MARK: JsonObject = withReplay(
  undefined,
  create(ReplaySchema, { messageId: "m1" }),
);

/** A frame, or why the stream ends before the next one. */
type Sent = Frame | ConnectError;

/**
 * Sends a message to an agent, and returns its events and the replays that were
 * reported, each with the number of events before it.
 */
async function sent(streams: readonly (readonly Sent[])[]): Promise<{
  readonly events: readonly string[];
  readonly replays: readonly unknown[];
}> {
  const { client, openedStreams } = agent(streams);
  const events: TaskEvent[] = [];
  const replays: unknown[] = [];
  const onReplay = ({ messageId }: Replay): void => {
    replays.push([messageId, events.length]);
  };
  for await (const event of streamMessage(client, { message }, signal, {
    onReplay,
    delay: () => Promise.resolve(),
  })) {
    events.push(event);
  }
  expect(openedStreams()).toBe(streams.length);
  return { events: events.map(describeEvent), replays };
}

/** An agent that answers with one stream after the other. */
function agent(
  streams: readonly (readonly Sent[])[],
  extension: ExtensionUse = "active",
) {
  const rest = [...streams];
  async function* next(): AsyncIterable<Frame> {
    for (const item of rest.shift() ?? []) {
      if (item instanceof ConnectError) throw item;
      yield item;
    }
  }
  const none = (): never => {
    throw new ConnectError("not called", Code.Internal);
  };
  const calls = {
    redirect: (request: SendMessageRequest) => request,
    stream: next,
    subscribe: next,
    send: none,
    get: none,
    cancel: none,
    withdraw: none,
    list: () => Promise.resolve(create(ListTasksResponseSchema)),
  };
  const service = createA2aTaskService(calls, extension, new KnownTasks());
  const client = createDevtoolClient(
    createRouterTransport((router) => router.service(TaskService, service)),
  );
  return { client, openedStreams: () => streams.length - rest.length };
}

function describeEvent({ sequence, payload }: TaskEvent): string {
  return `${sequence} ${payload.case}`;
}

type Payload = NonNullable<MessageInitShape<typeof TaskEventSchema>["payload"]>;

function opened(sequence: number, mark: JsonObject = {}): Frame {
  const value = { message };
  return frame(sequence, TaskState.WORKING, { case: "created", value }, mark);
}

function text(sequence: number, text: string): Frame {
  return frame(sequence, TaskState.WORKING, { case: "text", value: { text } });
}

function ended(sequence: number): Frame {
  return frame(sequence, TaskState.COMPLETED, {
    case: "stateChange",
    value: {},
  });
}

/** An event as devtool's server sends it. */
function frame(
  sequence: number,
  state: TaskState,
  payload: Payload,
  mark: JsonObject = {},
): Frame {
  const event = create(TaskEventSchema, {
    taskId: "t1",
    contextId: "c1",
    sequence: BigInt(sequence),
    state,
    payload,
  });
  const json = JSON.parse(encodeStreamFrame(event, "extension") ?? "{}");
  const result = { ...json, metadata: { ...json.metadata, ...mark } };
  return { result, id: String(sequence) };
}

/** An update of another agent, which has no ids and no extension. */
function plain(update: JsonObject): Frame {
  const result = { taskId: "t1", contextId: "c1", ...update };
  return { result, id: undefined };
}
