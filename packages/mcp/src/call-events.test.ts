import { type ToolEvent, textResult } from "@devtool/coding-agent/tool";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { CallDeadline } from "./call-deadline.ts";
import { CallEvents } from "./call-events.ts";

describe("the events of a call", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  function start(signal: AbortSignal = new AbortController().signal) {
    const deadline = new CallDeadline(60_000);
    const events = new CallEvents(deadline, () => Date.now(), signal);
    const seen: ToolEvent[] = [];
    const all = (async () => {
      for await (const event of events) seen.push(event);
    })();
    return { events, seen, all };
  }
  const steps = (seen: readonly ToolEvent[]) =>
    seen.flatMap((event) =>
      event.case === "progress" ? [event.value.done] : [],
    );

  it("show the newest progress, at most five times a second", async () => {
    const { events, seen, all } = start();
    for (let done = 1; done <= 1000; done++) {
      events.progress(done, 1000, "");
      await vi.advanceTimersByTimeAsync(1);
    }
    await vi.advanceTimersByTimeAsync(200);
    events.finish(textResult("done"));
    await all;
    expect(steps(seen).length).toBeLessThanOrEqual(7);
    expect(steps(seen).at(-1)).toBe(1000);
  });

  it("end with the result, and drop progress that was not read", async () => {
    const { events, seen, all } = start();
    events.progress(1, 2, "");
    await vi.advanceTimersByTimeAsync(0);
    events.progress(2, 2, "");
    events.finish(textResult("done"));
    await all;
    expect(seen.map((event) => event.case)).toEqual(["progress", "result"]);
  });

  it("reject a question when the call ends", async () => {
    const call = new AbortController();
    const { events } = start(call.signal);
    const details = { case: undefined };
    const answer = events.ask(
      { description: "?", details, options: [] },
      new AbortController().signal,
    );
    call.abort(new Error("the call is over"));
    await expect(answer).rejects.toThrow("the call is over");
  });

  it("withdraw a question that its server withdraws, and one that waits at the end", async () => {
    const { events, seen, all } = start();
    const question = {
      description: "?",
      details: { case: undefined },
      options: [],
    };
    const withdrawal = new AbortController();
    const first = events.ask(question, withdrawal.signal);
    const second = events.ask(question, new AbortController().signal);
    await vi.advanceTimersByTimeAsync(0);
    const withdrawn = () =>
      seen.map((event) => event.case === "question" && event.withdrawn.aborted);
    withdrawal.abort(new Error("no longer"));
    await expect(first).rejects.toThrow("no longer");
    expect(withdrawn()).toEqual([true, false]);
    events.finish(textResult("done"));
    await expect(second).rejects.toThrow("the call has ended");
    await all;
    expect(withdrawn().slice(0, 2)).toEqual([true, true]);
  });
});
