import { create } from "@bufbuild/protobuf";
import { type TaskEvent, TaskEventSchema } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { EventTail } from "./event-tail.ts";

const MEGABYTE = "x".repeat(1_000_000);

describe("the tail of a log", () => {
  it("keeps thousands of short events", () => {
    const tail = tailOf(10_000, textEvent("a word"));
    expect(tail.after(8_000n)).toHaveLength(2_000);
    expect(tail.after(0n)).toBeUndefined();
  });

  it.each([
    ["texts", textEvent(MEGABYTE)],
    ["arguments of tool calls", callEvent({ content: MEGABYTE })],
    ["nested arguments", callEvent({ files: [{ content: MEGABYTE }] })],
  ])(
    "keeps a few megabytes, however large the events are: %s",
    (_what, event) => {
      const tail = tailOf(64, event);
      expect(tail.after(61n)).toHaveLength(3);
      expect(tail.after(55n)).toBeUndefined();
    },
  );

  it("sends readers to the store for an event that is larger than itself", () => {
    const tail = tailOf(1, textEvent("x".repeat(9_000_000)));
    expect(tail.after(0n)).toBeUndefined();
    expect(tail.after(1n)).toEqual([]);
  });
});

type Payload = TaskEvent["payload"];

/** A tail after this many events, each with the same payload. */
function tailOf(count: number, payload: Payload): EventTail {
  const tail = new EventTail(0n);
  for (let sequence = 1n; sequence <= count; sequence++) {
    tail.push([{ ...create(TaskEventSchema), sequence, payload }]);
  }
  return tail;
}

function textEvent(text: string): Payload {
  return create(TaskEventSchema, { payload: { case: "text", value: { text } } })
    .payload;
}

function callEvent(
  inputParameters: Record<string, string | { content: string }[]>,
): Payload {
  return create(TaskEventSchema, {
    payload: { case: "toolCall", value: { inputParameters } },
  }).payload;
}
