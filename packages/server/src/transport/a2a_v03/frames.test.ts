import { create } from "@bufbuild/protobuf";
import { type TaskEvent, TaskEventSchema } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { frameOf } from "./frames.ts";

describe("frameOf", () => {
  it("writes an event once for those who read it side by side, in each view", () => {
    const event = textEvent("before");
    expect(frameOf(event, "extension")).toContain("before");
    event.payload = textEvent("after").payload;
    expect(frameOf(event, "extension")).toContain("before");
    expect(frameOf(event, "plain")).toContain("after");
  });

  it("forgets what was read when a megabyte came after it", () => {
    const event = textEvent("before");
    frameOf(event, "extension");
    event.payload = textEvent("after").payload;
    frameOf(textEvent("x".repeat(1024 * 1024)), "extension");
    expect(frameOf(event, "extension")).toContain("after");
  });

  it("remembers that a view shows nothing of an event", () => {
    const event = create(TaskEventSchema, { payload: { case: "usage", value: {} } });
    expect(frameOf(event, "plain")).toBeUndefined();
    event.payload = textEvent("after").payload;
    expect(frameOf(event, "plain")).toBeUndefined();
  });
});

function textEvent(text: string): TaskEvent {
  return create(TaskEventSchema, { taskId: "t1", payload: { case: "text", value: { text } } });
}
