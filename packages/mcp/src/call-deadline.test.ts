import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { CallDeadline } from "./call-deadline.ts";

describe("CallDeadline", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("is over when nothing happens", () => {
    using deadline = new CallDeadline(1000);
    vi.advanceTimersByTime(999);
    expect(deadline.signal.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    expect(deadline.signal.aborted).toBe(true);
  });

  it("begins again with progress", () => {
    using deadline = new CallDeadline(1000);
    for (let step = 0; step < 5; step++) {
      vi.advanceTimersByTime(900);
      deadline.restart();
    }
    expect(deadline.signal.aborted).toBe(false);
  });

  it("stands still while the user is asked, also when they are asked twice and there is progress", () => {
    using deadline = new CallDeadline(1000);
    {
      using _one = deadline.pause();
      {
        using _other = deadline.pause();
      }
      deadline.restart();
      vi.advanceTimersByTime(3_600_000);
      expect(deadline.signal.aborted).toBe(false);
    }
    vi.advanceTimersByTime(1000);
    expect(deadline.signal.aborted).toBe(true);
  });

  it("leaves no timer behind", () => {
    new CallDeadline(1000)[Symbol.dispose]();
    expect(vi.getTimerCount()).toBe(0);
  });
});
