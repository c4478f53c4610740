import { create } from "@bufbuild/protobuf";
import { TaskEventSchema } from "@devtool/schema";
import { encodeStreamFrame } from "@devtool/schema/a2a-v03";
import { describe, expect, it } from "vitest";
import { oncePerView } from "./once-per-view.ts";

describe("oncePerView", () => {
  it("encodes an event once per view for all its readers", () => {
    const encode = oncePerView(encodeStreamFrame);
    const event = textEvent("before");
    expect(encode(event, "extension")).toContain("before");
    event.payload = textEvent("after").payload;
    expect(encode(event, "extension")).toContain("before");
    expect(encode(event, "plain")).toContain("after");
    expect(oncePerView(encodeStreamFrame)(event, "extension")).toContain(
      "after",
    );
  });

  it("encodes a copy of an event by itself", () => {
    const encode = oncePerView(encodeStreamFrame);
    const event = textEvent("secret");
    expect(encode(event, "extension")).toContain("secret");
    const copy = { ...event, payload: textEvent("hidden").payload };
    expect(encode(copy, "extension")).toContain("hidden");
  });

  it("remembers that a view does not show an event", () => {
    const encode = oncePerView(encodeStreamFrame);
    const event = create(TaskEventSchema, {
      payload: { case: "usage", value: {} },
    });
    expect(encode(event, "plain")).toBeUndefined();
    event.payload = textEvent("after").payload;
    expect(encode(event, "plain")).toBeUndefined();
  });
});

function textEvent(text: string) {
  return create(TaskEventSchema, {
    taskId: "t1",
    payload: { case: "text", value: { text } },
  });
}
