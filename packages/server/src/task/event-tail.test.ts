import { create } from "@bufbuild/protobuf";
import { type TaskEvent, TaskEventSchema } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { EventTail } from "./event-tail.ts";

const MEGABYTE = "x".repeat(1_000_000);

describe("the tail of a log", () => {
  it("keeps thousands of short events", () => {
    const tail = tailOf(10_000, textEvent("a word"));
    expect(lengths(tail, 8_000n)).toEqual([512, 512, 512, 464]);
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
      expect(lengths(tail, 61n)).toEqual([1, 1, 1]);
      expect(tail.after(55n)).toBeUndefined();
    },
  );

  it("gives pages by size, each event once and in order", () => {
    // In units of 2,048 characters: an event weighs one more.
    const sizes = [0, 255, 255, 510, 0, 511, 0, 600, 0, 509, 1];
    const tail = new EventTail(0n);
    for (const [index, size] of sizes.entries()) {
      const payload = textEvent("x".repeat(size * 2048));
      const sequence = BigInt(index) + 1n;
      tail.push([{ ...create(TaskEventSchema), sequence, payload }]);
    }
    expect(lengths(tail, 0n)).toEqual([2, 1, 2, 1, 1, 1, 2, 1]);
  });

  it("sends readers to the store for an event that is larger than itself", () => {
    const tail = tailOf(1, textEvent("x".repeat(9_000_000)));
    expect(tail.after(0n)).toBeUndefined();
    expect(tail.after(1n)).toEqual([]);
  });
});

/** Reads all pages after a sequence and returns how many events each has. */
function lengths(tail: EventTail, sequence: bigint): number[] {
  const found: number[] = [];
  let position = sequence;
  for (;;) {
    const page = tail.after(position) ?? expect.fail("the tail is too short");
    if (page.length === 0) return found;
    for (const event of page) expect(event.sequence).toBe(++position);
    found.push(page.length);
  }
}

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
