import { create, equals, type JsonObject } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { decodeStreamFrame } from "../a2a-v03/stream-frame.ts";
import { EXTENSION_URI } from "../extension.ts";
import { AgentThoughtSchema } from "../gen/devtool/a2a/v1alpha/event_pb.ts";
import {
  ToolCallSchema,
  ToolCallStatus,
} from "../gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import {
  ArtifactUpdateSchema,
  type TaskEvent,
  TaskEventSchema,
} from "../gen/devtool/v1alpha/task_event_pb.ts";
import {
  MessageSchema,
  Role,
  TaskState,
} from "../gen/devtool/v1alpha/task_pb.ts";
import { StreamResponseSchema } from "../gen/lf/a2a/v1/a2a_pb.ts";
import { frameFromA2a } from "./frame.ts";
import { decodeA2aJson, encodeA2aJson } from "./json.ts";
import { replyToA2a, streamResponseOf } from "./stream-response.ts";

const UPDATE = create(ArtifactUpdateSchema, {
  artifact: {
    artifactId: "a",
    name: "n",
    description: "d",
    parts: [
      { content: { case: "text", value: "x" } },
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
      {
        content: {
          case: "file",
          value: { name: "f", source: { case: "uri", value: "https://x/f" } },
        },
      },
      {
        content: {
          case: "data",
          value: {
            selected_option_id: "no answer, but data",
            tool_call_id: "k",
          },
        },
      },
    ],
    metadata: { by: "me" },
    extensions: ["urn:e"],
  },
  append: true,
  lastChunk: true,
});

const time = timestampFromDate(new Date("2026-01-02T03:04:05.678Z"));

function event(
  payload: TaskEvent["payload"],
  more: Partial<Pick<TaskEvent, "state" | "model">> = {},
): TaskEvent {
  const { state = TaskState.WORKING, model = "m" } = more;
  return create(TaskEventSchema, {
    sequence: 4n,
    taskId: "t",
    contextId: "c",
    time,
    state,
    model,
    payload,
  });
}

function jsonOf(
  item: TaskEvent,
  view: "extension" | "plain" = "extension",
): JsonObject {
  const response = streamResponseOf(item, view);
  return response ? encodeA2aJson(StreamResponseSchema, response) : {};
}

/** Returns the event that a client reads from it. */
function readBack(json: JsonObject): TaskEvent {
  return decodeStreamFrame(
    frameFromA2a(decodeA2aJson(StreamResponseSchema, json).payload),
    4n,
  );
}

describe("an event in A2A 1.0", () => {
  const call = create(ToolCallSchema, {
    toolCallId: "k",
    toolName: "run",
    status: ToolCallStatus.EXECUTING,
  });

  it("is a status update: 1.0's names outside, the RFC's in data and metadata, no kind and no final (JSON-1)", () => {
    expect(jsonOf(event({ case: "toolCall", value: call }))).toEqual({
      statusUpdate: {
        taskId: "t",
        contextId: "c",
        status: {
          state: "TASK_STATE_WORKING",
          timestamp: "2026-01-02T03:04:05.678Z",
          message: {
            messageId: "t:4",
            taskId: "t",
            contextId: "c",
            role: "ROLE_AGENT",
            parts: [
              {
                data: {
                  tool_call_id: "k",
                  tool_name: "run",
                  status: "EXECUTING",
                },
              },
            ],
          },
        },
        metadata: { [EXTENSION_URI]: { kind: "TOOL_CALL_UPDATE", model: "m" } },
      },
    });
  });

  it("is only its text for clients without the extension, and nothing without text (CARD-3)", () => {
    const text = create(TaskEventSchema, {
      payload: { case: "text", value: { text: "Hi." } },
    }).payload;
    expect(jsonOf(event(text), "plain")).toMatchObject({
      statusUpdate: { status: { message: { parts: [{ text: "Hi." }] } } },
    });
    expect(jsonOf(event(text), "plain").statusUpdate).not.toHaveProperty(
      "metadata",
    );
    expect(
      streamResponseOf(
        event({ case: "thought", value: create(AgentThoughtSchema) }),
        "plain",
      ),
    ).toBeUndefined();
  });

  it("is an artifact update for all clients", () => {
    const made = create(TaskEventSchema, {
      payload: { case: "artifact", value: UPDATE },
    }).payload;
    const json = {
      artifactUpdate: {
        taskId: "t",
        contextId: "c",
        artifact: {
          artifactId: "a",
          name: "n",
          description: "d",
          parts: [
            { text: "x" },
            { raw: "AQ==", filename: "f", mediaType: "x/y" },
            { url: "https://x/f", filename: "f" },
            {
              data: {
                selected_option_id: "no answer, but data",
                tool_call_id: "k",
              },
            },
          ],
          metadata: { by: "me" },
          extensions: ["urn:e"],
        },
        append: true,
        lastChunk: true,
      },
    };
    expect(jsonOf(event(made))).toEqual(json);
    expect(jsonOf(event(made), "plain")).toEqual(json);
    const { time: _untold, ...timeless } = event(made, { model: "" });
    const read = readBack(json);
    expect(equals(TaskEventSchema, read, timeless)).toBe(true);
  });

  it("is a reply as the end of its task, or decoded from a reply alone", () => {
    const parts = [{ content: { case: "text" as const, value: "Hi." } }];
    const value = create(MessageSchema, {
      messageId: "r",
      role: Role.AGENT,
      parts,
    });
    const reply = event(
      { case: "reply", value },
      { state: TaskState.COMPLETED },
    );
    const read = readBack(jsonOf(reply));
    expect(equals(TaskEventSchema, read, reply)).toBe(true);
    expect(jsonOf(reply, "plain")).toMatchObject({
      statusUpdate: {
        status: {
          state: "TASK_STATE_COMPLETED",
          message: { parts: [{ text: "Hi." }] },
        },
      },
    });
    const alone = create(StreamResponseSchema, {
      payload: { case: "message", value: replyToA2a(value, "c") },
    });
    expect(encodeA2aJson(StreamResponseSchema, alone)).toEqual({
      message: {
        messageId: "r",
        contextId: "c",
        role: "ROLE_AGENT",
        parts: [{ text: "Hi." }],
      },
    });
    expect(readBack(encodeA2aJson(StreamResponseSchema, alone))).toMatchObject({
      state: TaskState.COMPLETED,
      payload: { case: "reply", value },
    });
  });
});
