import { create, equals, fromJson, type JsonObject } from "@bufbuild/protobuf";
import { timestampFromDate, ValueSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { decodeStreamFrame } from "../a2a-v03/stream-frame.ts";
import { decodeTask } from "../a2a-v03/task.ts";
import { AgentThoughtSchema } from "../gen/devtool/a2a/v1alpha/event_pb.ts";
import {
  ToolCallSchema,
  ToolCallStatus,
} from "../gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import {
  type TaskEvent,
  TaskEventSchema,
} from "../gen/devtool/v1alpha/task_event_pb.ts";
import { Role, TaskSchema, TaskState } from "../gen/devtool/v1alpha/task_pb.ts";
import { StreamResponseSchema } from "../gen/lf/a2a/v1/a2a_pb.ts";
import { frameFromA2a } from "./frame.ts";
import { decodeA2aJson, encodeA2aJson } from "./json.ts";
import { streamResponseOf } from "./stream-response.ts";
import { taskToA2a } from "./task.ts";

const time = timestampFromDate(new Date("2026-01-02T03:04:05.678Z"));

function event(payload: TaskEvent["payload"]): TaskEvent {
  const place = { sequence: 4n, taskId: "t", contextId: "c", time, model: "m" };
  return create(TaskEventSchema, {
    ...place,
    state: TaskState.WORKING,
    payload,
  });
}

/** Returns the frame that a client reads from the JSON that a server wrote. */
function frameOf(json: JsonObject): JsonObject {
  return frameFromA2a(decodeA2aJson(StreamResponseSchema, json).payload);
}

function written(item: TaskEvent): JsonObject {
  const response = streamResponseOf(item, "extension");
  return response ? encodeA2aJson(StreamResponseSchema, response) : {};
}

describe("an element of a stream of A2A 1.0", () => {
  const call = create(ToolCallSchema, {
    toolCallId: "k",
    toolName: "run",
    status: ToolCallStatus.EXECUTING,
  });

  it.each<[string, TaskEvent["payload"]]>([
    ["a tool call", { case: "toolCall", value: call }],
    [
      "a thought",
      {
        case: "thought",
        value: create(AgentThoughtSchema, { subject: "s", description: "d" }),
      },
    ],
    [
      "text",
      create(TaskEventSchema, {
        payload: { case: "text", value: { text: "Hi." } },
      }).payload,
    ],
    [
      "usage",
      create(TaskEventSchema, {
        payload: { case: "usage", value: { inputTokens: 3n } },
      }).payload,
    ],
    [
      "a notice",
      create(TaskEventSchema, {
        payload: { case: "notice", value: { text: "wait", attempt: 2 } },
      }).payload,
    ],
    [
      "a citation",
      create(TaskEventSchema, {
        payload: { case: "citation", value: { uri: "https://x" } },
      }).payload,
    ],
    [
      "a change of state",
      create(TaskEventSchema, {
        payload: { case: "stateChange", value: { text: "why" } },
      }).payload,
    ],
    [
      "a client's message",
      create(TaskEventSchema, {
        payload: {
          case: "message",
          value: {
            messageId: "m",
            role: Role.USER,
            referenceTaskIds: ["t0"],
            parts: [
              { content: { case: "text", value: "a" } },
              { content: { case: "data", value: { any: [1] } } },
              {
                content: {
                  case: "file",
                  value: {
                    name: "f",
                    mediaType: "x/y",
                    source: { case: "bytes", value: new Uint8Array([1]) },
                  },
                },
              },
            ],
          },
        },
      }).payload,
    ],
    [
      "the beginning",
      create(TaskEventSchema, {
        payload: {
          case: "created",
          value: {
            message: {
              messageId: "m",
              role: Role.USER,
              parts: [{ content: { case: "text", value: "go" } }],
            },
            settings: { workspacePath: "/w" },
          },
        },
      }).payload,
    ],
  ])("is decoded as it was encoded: %s", (_name, payload) => {
    const before = event(payload);
    const read = decodeStreamFrame(frameOf(written(before)), 4n);
    // The task that starts a stream does not have the model of a single event.
    const told = payload.case === "created" ? { ...before, model: "" } : before;
    expect(equals(TaskEventSchema, read, told)).toBe(true);
  });

  it("is decoded as the task that was encoded", () => {
    const task = create(TaskSchema, {
      id: "t",
      contextId: "c",
      state: TaskState.INPUT_REQUIRED,
      model: "m",
      updateTime: time,
      settings: { workspacePath: "/w" },
      history: [
        {
          messageId: "m",
          role: Role.USER,
          parts: [{ content: { case: "text", value: "go" } }],
        },
        {
          messageId: "t:2",
          role: Role.AGENT,
          parts: [{ content: { case: "toolCall", value: call } }],
        },
      ],
    });
    const json = encodeA2aJson(
      StreamResponseSchema,
      create(StreamResponseSchema, {
        payload: { case: "task", value: taskToA2a(task) },
      }),
    );
    expect(equals(TaskSchema, decodeTask(frameOf(json)), task)).toBe(true);
  });

  it("has the model of the event if a task continues", () => {
    const task = create(TaskSchema, {
      id: "t",
      contextId: "c",
      state: TaskState.WORKING,
      model: "m",
    });
    const response = create(StreamResponseSchema, {
      payload: { case: "task", value: taskToA2a(task) },
    });
    expect(
      decodeStreamFrame(
        frameOf(encodeA2aJson(StreamResponseSchema, response)),
        7n,
      ),
    ).toMatchObject({
      sequence: 7n,
      model: "m",
    });
  });

  it("keeps artifacts", () => {
    const artifact = { artifactId: "a", parts: [{ text: "made" }] };
    const task = {
      id: "t",
      contextId: "c",
      status: { state: "TASK_STATE_COMPLETED" },
      artifacts: [artifact],
    };
    const made = { artifactId: "a", parts: [{ kind: "text", text: "made" }] };
    expect(frameOf({ task })).toMatchObject({
      kind: "task",
      status: { state: "completed" },
      artifacts: [made],
    });
    const update = { taskId: "t", contextId: "c", artifact, append: true };
    expect(frameOf({ artifactUpdate: update })).toMatchObject({
      kind: "artifact-update",
      taskId: "t",
      append: true,
      artifact: made,
    });
  });

  it("may be a message only", () => {
    const message = {
      messageId: "m",
      role: "ROLE_AGENT",
      parts: [{ text: "hi" }],
    };
    expect(frameOf({ message })).toMatchObject({
      kind: "message",
      role: "agent",
      parts: [{ kind: "text", text: "hi" }],
    });
  });

  it.each([
    ["TASK_STATE_COMPLETED", "completed", true],
    ["TASK_STATE_INPUT_REQUIRED", "input-required", true],
    ["TASK_STATE_WORKING", "working", false],
  ])("ends an exchange by its state: %s", (state, name, final) => {
    expect(
      frameOf({
        statusUpdate: { taskId: "t", contextId: "c", status: { state } },
      }),
    ).toMatchObject({
      status: { state: name },
      final,
    });
  });

  it("accepts data that is not an object, as 1.0 allows", () => {
    const json = {
      statusUpdate: {
        taskId: "t",
        contextId: "c",
        status: {
          state: 2,
          message: {
            messageId: "m",
            role: "ROLE_USER",
            parts: [{ data: [1, "a"] }],
          },
        },
      },
    };
    const read = decodeStreamFrame(
      frameFromA2a(fromJson(StreamResponseSchema, json).payload),
      1n,
    );
    expect(read.payload.value).toMatchObject({
      parts: [
        {
          content: {
            case: "dataValue",
            value: fromJson(ValueSchema, [1, "a"]),
          },
        },
      ],
    });
  });

  it("is rejected if it is empty, or without its content", () => {
    expect(() => frameOf({})).toThrow("holds nothing");
    expect(() => frameOf({ statusUpdate: { taskId: "t" } })).toThrow(
      "statusUpdate.status is missing",
    );
    expect(() => frameOf({ artifactUpdate: { taskId: "t" } })).toThrow(
      "artifactUpdate.artifact is missing",
    );
  });
});
