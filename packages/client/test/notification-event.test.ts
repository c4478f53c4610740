import { create, equals, toJsonString } from "@bufbuild/protobuf";
import { TaskEventSchema, TaskState, ToolCallStatus } from "@devtool/schema";
import {
  encodeA2aJson,
  StreamResponseSchema,
  streamResponseOf,
} from "@devtool/schema/a2a-v1";
import { encodeStreamFrame } from "@devtool/schema/a2a-v03";
import { describe, expect, it } from "vitest";
import { notificationEvent } from "../src/webhook.ts";

const EVENT = create(TaskEventSchema, {
  sequence: 5n,
  taskId: "t",
  contextId: "c",
  model: "m",
  state: TaskState.WORKING,
  payload: {
    case: "toolCall",
    value: {
      toolCallId: "k",
      toolName: "run",
      status: ToolCallStatus.EXECUTING,
    },
  },
});

describe("the event of a notification", () => {
  it.each([
    ["a TaskEvent", () => toJsonString(TaskEventSchema, EVENT)],
    ["a frame of A2A 0.3", () => encodeStreamFrame(EVENT, "extension") ?? ""],
    ["a stream element of A2A 1.0", streamElement],
  ])("is read from %s", (_name, body) => {
    const event = notificationEvent({ body: body(), sequence: 5n });
    expect(event && equals(TaskEventSchema, event, EVENT)).toBe(true);
  });

  it("is undefined for another format, and an error for an invalid body", () => {
    expect(
      notificationEvent({ body: '{"message":{}}', sequence: 1n }),
    ).toBeUndefined();
    expect(() =>
      notificationEvent({ body: '{"statusUpdate":{}}', sequence: 1n }),
    ).toThrow("the body is not a valid event");
    expect(() => notificationEvent({ body: "{", sequence: 1n })).toThrow(
      "the body is not a valid event",
    );
  });
});

function streamElement(): string {
  const response = streamResponseOf(EVENT, "extension");
  return response
    ? JSON.stringify(encodeA2aJson(StreamResponseSchema, response))
    : "";
}
