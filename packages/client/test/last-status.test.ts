import type { ServerResponse } from "node:http";
import { fromJson, type JsonObject } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  createRouterTransport,
  type Transport,
} from "@connectrpc/connect";
import {
  EXTENSION_URI,
  emptyTask,
  reduceTask,
  type TaskEvent,
  TaskState,
} from "@devtool/schema";
import { A2AService, StreamResponseSchema } from "@devtool/schema/a2a-v1";
import { describe, expect, it } from "vitest";
import { createA2aTransport } from "../src/a2a.ts";
import {
  createDevtoolClient,
  type DevtoolClient,
  pendingToolCalls,
  streamMessage,
  subscribeTask,
  textMessage,
} from "../src/index.ts";
import {
  json,
  type RecordedAgent,
  startRecordedAgent,
} from "./recorded-agent.ts";
import { deadline, joinText, QUICK } from "./streams.ts";

/** The content of one frame, which both versions of A2A can encode. */
interface Update {
  /** The state, by its name in 0.3. */
  readonly state: string;
  /** The parts of the status message. Undefined: no message. */
  readonly parts?: readonly {
    readonly text?: string;
    readonly data?: JsonObject;
  }[];
  readonly metadata?: JsonObject;
}

const MESSAGE = textMessage("m1", "go");

/**
 * The event ids of official SDKs: none (JavaScript, Python), or counted for
 * each response (Java from 0, Rust from 1).
 */
const IDS = [
  { ids: "without ids", first: undefined },
  { ids: "with ids from 0", first: 0 },
  { ids: "with ids from 1", first: 1 },
];

const WIRES = [
  { protocolVersion: "0.3", protocolBinding: "JSONRPC" },
  { protocolVersion: "0.3", protocolBinding: "HTTP+JSON" },
  { protocolVersion: "1.0", protocolBinding: "JSONRPC" },
  { protocolVersion: "1.0", protocolBinding: "HTTP+JSON" },
];

const ENDS: readonly {
  readonly name: string;
  readonly last: Update;
  readonly state: TaskState;
  readonly said: string;
}[] = [
  {
    name: "a text",
    last: { state: "completed", parts: [{ text: "there" }] },
    state: TaskState.COMPLETED,
    said: "there",
  },
  {
    name: "a question in several texts",
    last: {
      state: "input-required",
      parts: [{ text: "which " }, { text: "one?" }],
    },
    state: TaskState.INPUT_REQUIRED,
    said: "which one?",
  },
  {
    name: "data",
    last: { state: "completed", parts: [{ data: { answer: 42 } }] },
    state: TaskState.COMPLETED,
    said: '{"answer":42}',
  },
  {
    name: "a reason for its failure",
    last: { state: "failed", parts: [{ text: "no" }] },
    state: TaskState.FAILED,
    said: "no",
  },
  {
    name: "the extension's text",
    last: {
      state: "completed",
      parts: [{ text: "there" }],
      metadata: { [EXTENSION_URI]: { kind: "TEXT_CONTENT" } },
    },
    state: TaskState.COMPLETED,
    said: "there",
  },
];

describe.each(WIRES)(
  "an agent over A2A $protocolVersion with $protocolBinding whose last status has a message",
  (wire) => {
    const cases = ENDS.flatMap((end) =>
      IDS.map((style) => ({ ...end, ...style })),
    );

    it.each(cases)(
      "ends the exchange with $name, $ids",
      async ({ last, state, said, first }) => {
        const updates = [{ state: "submitted" }, { state: "working" }, last];
        await using agent = await startRecordedAgent(
          streamOf(wire, updates, first),
          refusal(wire),
        );
        const events = await Array.fromAsync(
          streamMessage(
            connect(agent, wire),
            { message: MESSAGE },
            deadline(),
            QUICK,
          ),
        );
        expect([joinText(events), events.at(-1)?.state]).toEqual([said, state]);
        expect(agent.requests).toHaveLength(1);
        expect(events.reduce(reduceTask, emptyTask()).state).toBe(state);
      },
    );

    it.each(IDS)(
      "gets an answer in the task that waits, $ids",
      async ({ first }) => {
        const asks = [
          { state: "submitted" },
          { state: "working" },
          { state: "input-required", parts: [{ text: "which?" }] },
        ];
        const answers = [
          { state: "working" },
          { state: "completed", parts: [{ text: "that" }] },
        ];
        await using agent = await startRecordedAgent(
          streamOf(wire, asks, first),
          streamOf(wire, answers, first, "update"),
          refusal(wire),
        );
        const client = connect(agent, wire);
        const asked = await Array.fromAsync(
          streamMessage(client, { message: MESSAGE }, deadline(), QUICK),
        );
        const request = {
          message: textMessage("m2", "that one"),
          taskId: "t1",
          contextId: "c1",
        };
        const answered = await Array.fromAsync(
          streamMessage(client, request, deadline(), QUICK),
        );
        expect([joinText(answered), answered.at(-1)?.state]).toEqual([
          "that",
          TaskState.COMPLETED,
        ]);
        expect(sequences([...asked, ...answered])).toEqual(
          upTo(asked.length + answered.length),
        );
        expect(agent.requests).toHaveLength(2);
      },
    );

    it.each(IDS)(
      "is subscribed to after the last event read, $ids",
      async ({ first }) => {
        const rest = [
          { state: "working" },
          { state: "working", parts: [{ text: "late" }] },
          { state: "completed" },
        ];
        await using agent = await startRecordedAgent(
          streamOf(wire, rest, first),
        );
        const log = subscribeTask(
          connect(agent, wire),
          { taskId: "t1", afterSequence: 2n },
          deadline(),
          QUICK,
        );
        const events = await Array.fromAsync(log);
        expect([joinText(events), events.at(-1)?.state]).toEqual([
          "late",
          TaskState.COMPLETED,
        ]);
        expect(sequences(events)).toEqual([3n, 4n]);
      },
    );

    it.each(IDS)(
      "ends with the tool call that waits for approval, $ids",
      async ({ first }) => {
        const call = {
          tool_call_id: "c",
          tool_name: "write",
          status: "PENDING",
          confirmation_request: { options: [] },
        };
        const asks = {
          state: "input-required",
          parts: [{ data: call }],
          metadata: { [EXTENSION_URI]: { kind: "TOOL_CALL_UPDATE" } },
        };
        await using agent = await startRecordedAgent(
          streamOf(wire, [{ state: "submitted" }, asks], first),
          refusal(wire),
        );
        const events = await Array.fromAsync(
          streamMessage(
            connect(agent, wire),
            { message: MESSAGE },
            deadline(),
            QUICK,
          ),
        );
        const task = events.reduce(reduceTask, emptyTask());
        expect([task.state, pendingToolCalls(task).length]).toEqual([
          TaskState.INPUT_REQUIRED,
          1,
        ]);
        expect(agent.requests).toHaveLength(1);
      },
    );
  },
);

describe("an agent over A2A 1.0 with gRPC whose last status has a message", () => {
  it.each(ENDS)(
    "ends the exchange with $name",
    async ({ last, state, said }) => {
      const updates: Update[] = [
        { state: "submitted" },
        { state: "working" },
        last,
      ];
      const client = createDevtoolClient(
        createA2aTransport({
          url: "http://agent.test/",
          protocolVersion: "1.0",
          protocolBinding: "GRPC",
          grpc: () => grpcAgent(updates),
        }),
      );
      const events = await Array.fromAsync(
        streamMessage(client, { message: MESSAGE }, deadline(), QUICK),
      );
      expect([joinText(events), events.at(-1)?.state]).toEqual([said, state]);
    },
  );
});

type Wire = (typeof WIRES)[number];

/**
 * Answers with a stream of updates. The first is sent as the whole task unless
 * `first` is "update"; ids count from `firstId`.
 */
function streamOf(
  wire: Wire,
  updates: readonly Update[],
  firstId: number | undefined,
  first: "task" | "update" = "task",
) {
  return (response: ServerResponse, id: number): void => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const [index, item] of updates.entries()) {
      const isTask = index === 0 && first === "task";
      const frame =
        wire.protocolVersion === "0.3"
          ? frameV03(item, isTask)
          : frameV1(item, isTask);
      const body =
        wire.protocolBinding === "JSONRPC"
          ? { jsonrpc: "2.0", id, result: frame }
          : frame;
      const eventId = firstId === undefined ? "" : `id: ${firstId + index}\n`;
      response.write(`${eventId}data: ${JSON.stringify(body)}\n\n`);
    }
    response.end();
  };
}

function frameV03(
  { state, parts, metadata = {} }: Update,
  isTask: boolean,
): JsonObject {
  const kinds = parts?.map((part) => ({
    ...part,
    kind: "text" in part ? "text" : "data",
  }));
  const message = kinds && {
    kind: "message",
    messageId: "a1",
    role: "agent",
    parts: kinds,
  };
  const status = { state, ...(message && { message }) };
  if (isTask) return { kind: "task", id: "t1", contextId: "c1", status };
  const final = ["completed", "failed", "input-required"].includes(state);
  return {
    kind: "status-update",
    taskId: "t1",
    contextId: "c1",
    status,
    final,
    metadata,
  };
}

function frameV1(
  { state, parts, metadata = {} }: Update,
  isTask: boolean,
): JsonObject {
  const message = parts && {
    messageId: "a1",
    role: "ROLE_AGENT",
    parts: parts.map((part) => ({ ...part })),
  };
  const name = `TASK_STATE_${state.replace("-", "_").toUpperCase()}`;
  const status = { state: name, ...(message && { message }) };
  if (isTask) return { task: { id: "t1", contextId: "c1", status } };
  return { statusUpdate: { taskId: "t1", contextId: "c1", status, metadata } };
}

/** Refuses a subscription, as agents do for an ended task. */
function refusal({ protocolBinding }: Wire) {
  return (response: ServerResponse, id: number): void => {
    const message = "the task has ended";
    const rpc = { jsonrpc: "2.0", id, error: { code: -32004, message } };
    if (protocolBinding === "JSONRPC") {
      json(rpc)(response);
    } else {
      json(
        { error: { status: "FAILED_PRECONDITION", message } },
        400,
      )(response);
    }
  };
}

function grpcAgent(updates: readonly Update[]): Transport {
  return createRouterTransport(({ service }) => {
    service(A2AService, {
      async *sendStreamingMessage() {
        for (const [index, item] of updates.entries()) {
          yield fromJson(StreamResponseSchema, frameV1(item, index === 0));
        }
      },
      subscribeToTask() {
        throw new ConnectError("the task has ended", Code.FailedPrecondition);
      },
    });
  });
}

function connect({ url }: RecordedAgent, wire: Wire): DevtoolClient {
  return createDevtoolClient(createA2aTransport({ url, ...wire }));
}

function sequences(events: readonly TaskEvent[]): bigint[] {
  return events.map(({ sequence }) => sequence);
}

function upTo(count: number): bigint[] {
  return Array.from({ length: count }, (_, index) => BigInt(index + 1));
}
