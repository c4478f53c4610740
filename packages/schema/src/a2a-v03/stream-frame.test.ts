import {
  create,
  equals,
  fromJson,
  type JsonObject,
  type MessageInitShape,
  toJson,
} from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EXTENSION_URI, TASK_EVENT_URI } from "../extension.ts";
import {
  TaskSchema as A2aTaskSchema,
  TaskStatusUpdateEventSchema,
} from "../gen/devtool/a2a/v1alpha/envelope_pb.ts";
import {
  ToolCallSchema,
  ToolCallStatus,
} from "../gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import {
  type TaskEvent,
  TaskEventSchema,
} from "../gen/devtool/v1alpha/task_event_pb.ts";
import {
  type PartSchema,
  Role,
  TaskState,
} from "../gen/devtool/v1alpha/task_pb.ts";
import {
  decodeStreamFrame,
  encodeStreamFrame,
  streamFrameEncoder,
} from "./stream-frame.ts";

const text = fc.string({ unit: "grapheme", maxLength: 40 });
const filled = text.filter((value) => value !== "");
const working = fc.constant(TaskState.WORKING);

const toolCall = fc.record({
  toolCallId: filled,
  status: fc.constantFrom(
    ToolCallStatus.PENDING,
    ToolCallStatus.EXECUTING,
    ToolCallStatus.SUCCEEDED,
  ),
  toolName: filled,
  inputParameters: fc.dictionary(
    text,
    fc.oneof(text, fc.boolean(), fc.integer()),
    { maxKeys: 3 },
  ),
  liveContent: text,
});

const event: fc.Arbitrary<TaskEvent> = fc
  .oneof(
    fc.record({
      state: working,
      payload: fc.record({
        case: fc.constant("text" as const),
        value: fc.record({ text }),
      }),
    }),
    fc.record({
      state: working,
      payload: fc.record({
        case: fc.constant("thought" as const),
        value: fc.record({ subject: text, description: text }),
      }),
    }),
    fc.record({
      state: working,
      payload: fc.record({
        case: fc.constant("toolCall" as const),
        value: toolCall,
      }),
    }),
    fc.record({
      state: fc.constantFrom(
        TaskState.WORKING,
        TaskState.COMPLETED,
        TaskState.FAILED,
        TaskState.INPUT_REQUIRED,
      ),
      payload: fc.record({
        case: fc.constant("stateChange" as const),
        value: fc.record({
          text,
          error: text,
          openCalls: fc.array(toolCall, { maxLength: 2 }),
        }),
      }),
    }),
    fc.record({
      state: working,
      payload: fc.record({
        case: fc.constant("message" as const),
        value: fc.record({
          messageId: filled,
          role: fc.constant(Role.USER),
          parts: fc.tuple(
            fc.record({
              content: fc.record({
                case: fc.constant("text" as const),
                value: text,
              }),
            }),
          ),
        }),
      }),
    }),
  )
  .map((partial) =>
    create(TaskEventSchema, {
      sequence: 7n,
      taskId: "t",
      contextId: "c",
      time: timestampFromMs(1_700_000_000_123),
      model: "m",
      ...partial,
    }),
  );

const asked = create(ToolCallSchema, {
  toolCallId: "c1",
  toolName: "run",
  status: ToolCallStatus.PENDING,
  confirmationRequest: { options: [{ id: "proceed_once", name: "Yes" }] },
});

const asks = eventWith({
  state: TaskState.INPUT_REQUIRED,
  payload: { case: "stateChange", value: { openCalls: [asked] } },
});

function eventWith(
  fields: MessageInitShape<typeof TaskEventSchema>,
): TaskEvent {
  return create(TaskEventSchema, {
    sequence: 7n,
    taskId: "t",
    contextId: "c",
    state: TaskState.WORKING,
    ...fields,
  });
}

function messageEvent(
  content: NonNullable<MessageInitShape<typeof PartSchema>["content"]>,
): TaskEvent {
  return eventWith({
    payload: {
      case: "message",
      value: { messageId: "m2", role: Role.USER, parts: [{ content }] },
    },
  });
}

function frameOf(event: TaskEvent, view: "extension" | "plain"): JsonObject {
  return JSON.parse(encodeStreamFrame(event, view) ?? "null");
}

describe("the frames of a stream in A2A 0.3", () => {
  it("have everything that an event has", () => {
    fc.assert(
      fc.property(event, (original) => {
        const frame: JsonObject = JSON.parse(
          encodeStreamFrame(original, "extension") ?? "null",
        );
        return equals(
          TaskEventSchema,
          decodeStreamFrame(frame, original.sequence),
          original,
        );
      }),
    );
  });

  it("are the JSON of the messages of A2A", () => {
    fc.assert(
      fc.property(event, (original) => {
        const frame: JsonObject = JSON.parse(
          encodeStreamFrame(original, "extension") ?? "null",
        );
        expect(
          toJson(
            TaskStatusUpdateEventSchema,
            fromJson(TaskStatusUpdateEventSchema, frame),
          ),
        ).toEqual(frame);
      }),
    );
  });

  it.each<MessageInitShape<typeof TaskEventSchema>>([
    {},
    { taskId: 'other "task"' },
    { contextId: "other" },
    { state: TaskState.SUBMITTED },
    { model: "other" },
    { time: timestampFromMs(2001) },
    { toolCallDetail: { selectedOptionId: "x" } },
    { payload: { case: "text", value: { text: "" } } },
    { payload: { case: "notice", value: { text: "waits" } } },
  ])("are the same from an encoder that keeps frames: %o", (other) => {
    const piece = (fields: MessageInitShape<typeof TaskEventSchema>) =>
      eventWith({
        time: timestampFromMs(1001),
        payload: { case: "text", value: { text: '"a" word' } },
        ...fields,
      });
    const encode = streamFrameEncoder(encodeStreamFrame);
    const sequence = 8n;
    const events = [piece({}), piece({ sequence, ...other }), piece({})];
    for (const view of ["extension", "plain"] as const) {
      for (const each of events) {
        expect(encode(each, view)).toBe(encodeStreamFrame(each, view));
      }
    }
  });

  it("start with the task that was created", () => {
    const created = create(TaskEventSchema, {
      sequence: 1n,
      taskId: "t",
      contextId: "c",
      state: TaskState.SUBMITTED,
      time: timestampFromMs(1000),
      payload: {
        case: "created",
        value: {
          message: {
            messageId: "m",
            role: Role.USER,
            parts: [{ content: { case: "text", value: "hi" } }],
          },
          settings: { workspacePath: "/w" },
        },
      },
    });
    const frame: JsonObject = JSON.parse(
      encodeStreamFrame(created, "extension") ?? "null",
    );
    expect(frame).toMatchObject({
      kind: "task",
      id: "t",
      status: { state: "submitted" },
      history: [{ messageId: "m", role: "user" }],
    });
    expect(toJson(A2aTaskSchema, fromJson(A2aTaskSchema, frame))).toEqual(
      frame,
    );
    expect(decodeStreamFrame(frame, 1n)).toEqual(created);
  });

  it("ask in the input-required event, with whole calls as data parts (STREAM-2)", () => {
    const frame = frameOf(asks, "extension");
    expect(frame).toMatchObject({
      status: {
        state: "input-required",
        message: {
          role: "agent",
          parts: [
            { kind: "data", data: { tool_call_id: "c1", tool_name: "run" } },
          ],
        },
      },
      final: true,
      metadata: { [EXTENSION_URI]: { kind: "STATE_CHANGE" } },
    });
  });

  it("ask clients without the extension in words, once (CARD-3)", () => {
    expect(JSON.stringify(frameOf(asks, "plain"))).toContain("May I call run?");
    const update = eventWith({ payload: { case: "toolCall", value: asked } });
    expect(encodeStreamFrame(update, "plain")).toBeUndefined();
  });

  it("show clients without the extension why a task failed, and which messages were not taken (STREAM-8)", () => {
    const value = {
      error: "no model",
      text: 'messages that were not taken: "m2"',
    };
    const failed = eventWith({
      state: TaskState.FAILED,
      payload: { case: "stateChange", value },
    });
    const { status } = frameOf(failed, "plain");
    expect(status).toMatchObject({
      message: { parts: [{ text: `${value.error}\n\n${value.text}` }] },
    });
  });

  it("do not repeat the user: an answer has no frame, another message is a change of state (STREAM-2)", () => {
    expect(
      encodeStreamFrame(
        messageEvent({ case: "confirmation", value: { toolCallId: "c1" } }),
        "extension",
      ),
    ).toBeUndefined();
    const frame = frameOf(
      messageEvent({ case: "text", value: "go on" }),
      "extension",
    );
    expect(frame.status).toEqual({ state: "working" });
    expect(frame.metadata).toMatchObject({
      [EXTENSION_URI]: { kind: "STATE_CHANGE" },
      [TASK_EVENT_URI]: { message: { messageId: "m2" } },
    });
    expect(
      frameOf(messageEvent({ case: "text", value: "go on" }), "plain").status,
    ).toEqual({ state: "working" });
  });

  it("do not show an answered call that waits for its turn (STREAM-4)", () => {
    const { confirmationRequest: _asked, ...scheduled } = asked;
    const payload = { case: "toolCall", value: scheduled } as const;
    expect(
      encodeStreamFrame(eventWith({ payload }), "extension"),
    ).toBeDefined();
    const answered = eventWith({
      payload,
      toolCallDetail: { selectedOptionId: "proceed_once" },
    });
    expect(encodeStreamFrame(answered, "extension")).toBeUndefined();
  });

  it.each<NonNullable<MessageInitShape<typeof TaskEventSchema>["payload"]>>([
    { case: "usage", value: {} },
    { case: "notice", value: { text: "the model is asked again" } },
    { case: "summary", value: {} },
  ])("mark $case as no change of state (STREAM-2)", (payload) => {
    const { metadata } = frameOf(
      eventWith({ payload, model: "m" }),
      "extension",
    );
    expect(metadata).toMatchObject({
      [EXTENSION_URI]: {
        kind: "DEVELOPMENT_TOOL_EVENT_KIND_UNSPECIFIED",
        model: "m",
      },
      [TASK_EVENT_URI]: { [payload.case ?? ""]: {} },
    });
  });

  it("reject what is not a frame, and say why", () => {
    expect(() => decodeStreamFrame({ kind: "artifact" }, 1n)).toThrow(
      'result.kind "artifact" is not a frame of a task',
    );
    expect(() => decodeStreamFrame({ kind: "status-update" }, 1n)).toThrow(
      "result.status is missing",
    );
    expect(() => decodeStreamFrame([], 1n)).toThrow("must be a JSON object");
  });

  it("read questions of earlier agents, sent under the kind of an answer (STREAM-2)", () => {
    const data = {
      tool_call_id: "c1",
      status: "PENDING",
      confirmation_request: { options: [{ id: "cancel" }] },
    };
    const uri =
      "https://github.com/google-gemini/gemini-cli/blob/main/docs/a2a/developer-profile/v0/spec.md";
    const frame = {
      kind: "status-update",
      taskId: "t",
      status: {
        state: "working",
        message: {
          kind: "message",
          role: "agent",
          messageId: "x",
          parts: [{ kind: "data", data }],
        },
      },
      metadata: { [uri]: { kind: "TOOL_CALL_CONFIRMATION" } },
    };
    expect(decodeStreamFrame(frame, 1n).payload.case).toBe("toolCall");
  });
});
