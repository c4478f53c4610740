import { create, type JsonObject } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { EXTENSION_URI } from "../extension.ts";
import { AgentThoughtSchema } from "../gen/devtool/a2a/v1alpha/event_pb.ts";
import { ToolCallSchema, ToolCallStatus } from "../gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import { type TaskEvent, TaskEventSchema } from "../gen/devtool/v1alpha/task_event_pb.ts";
import { TaskState } from "../gen/devtool/v1alpha/task_pb.ts";
import { StreamResponseSchema } from "../gen/lf/a2a/v1/a2a_pb.ts";
import { encodeA2aJson } from "./json.ts";
import { streamResponseOf } from "./stream-response.ts";

const time = timestampFromDate(new Date("2026-01-02T03:04:05.678Z"));

function event(payload: TaskEvent["payload"], more: Partial<Pick<TaskEvent, "state" | "model">> = {}): TaskEvent {
  const { state = TaskState.WORKING, model = "m" } = more;
  return create(TaskEventSchema, { sequence: 4n, taskId: "t", contextId: "c", time, state, model, payload });
}

function jsonOf(item: TaskEvent, view: "extension" | "plain" = "extension"): JsonObject {
  const response = streamResponseOf(item, view);
  return response ? encodeA2aJson(StreamResponseSchema, response) : {};
}

describe("an event in A2A 1.0", () => {
  const call = create(ToolCallSchema, { toolCallId: "k", toolName: "run", status: ToolCallStatus.EXECUTING });

  it("is a status update: 1.0's own names outside, the RFC's in data and metadata, no kind and no final (JSON-1)", () => {
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
            parts: [{ data: { tool_call_id: "k", tool_name: "run", status: "EXECUTING" } }],
          },
        },
        metadata: { [EXTENSION_URI]: { kind: "TOOL_CALL_UPDATE", model: "m" } },
      },
    });
  });

  it("is its text alone for a client without the extension, and nothing where there is none (CARD-3)", () => {
    const text = create(TaskEventSchema, { payload: { case: "text", value: { text: "Hi." } } }).payload;
    expect(jsonOf(event(text), "plain")).toMatchObject({
      statusUpdate: { status: { message: { parts: [{ text: "Hi." }] } } },
    });
    expect(jsonOf(event(text), "plain").statusUpdate).not.toHaveProperty("metadata");
    expect(streamResponseOf(event({ case: "thought", value: create(AgentThoughtSchema) }), "plain")).toBeUndefined();
  });
});
