import { create } from "@bufbuild/protobuf";
import { TaskEventSchema } from "@devtool/schema";
import { encodeStreamFrame } from "@devtool/schema/a2a-v03";
import { describe, expect, it } from "vitest";
import { oncePerEvent } from "./once-per-event.ts";

describe("oncePerEvent", () => {
  it("writes an event once for those who read it side by side, in each view", () => {
    const textOf = oncePerEvent(encodeStreamFrame);
    const event = textEvent("before");
    expect(textOf(event, "extension")).toContain("before");
    event.payload = textEvent("after").payload;
    expect(textOf(event, "extension")).toContain("before");
    expect(textOf(event, "plain")).toContain("after");
    expect(oncePerEvent(encodeStreamFrame)(event, "extension")).toContain("after");
  });

  it("remembers that a view shows nothing of an event", () => {
    const textOf = oncePerEvent(encodeStreamFrame);
    const event = create(TaskEventSchema, { payload: { case: "usage", value: {} } });
    expect(textOf(event, "plain")).toBeUndefined();
    event.payload = textEvent("after").payload;
    expect(textOf(event, "plain")).toBeUndefined();
  });
});

function textEvent(text: string) {
  return create(TaskEventSchema, { taskId: "t1", payload: { case: "text", value: { text } } });
}
