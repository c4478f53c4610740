import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { CallDeadline } from "./call-deadline.ts";

describe("CallDeadline", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("expires without progress", () => {
    using deadline = new CallDeadline(1000);
    vi.advanceTimersByTime(999);
    expect(deadline.signal.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    expect(deadline.signal.aborted).toBe(true);
  });

  it("restarts with progress", () => {
    using deadline = new CallDeadline(1000);
    for (let step = 0; step < 5; step++) {
      vi.advanceTimersByTime(900);
      deadline.restart();
    }
    expect(deadline.signal.aborted).toBe(false);
  });

  it("is paused while the user is asked, even twice and with progress", () => {
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

  it("clears its timer when it is disposed of", () => {
    new CallDeadline(1000)[Symbol.dispose]();
    expect(vi.getTimerCount()).toBe(0);
  });
});
