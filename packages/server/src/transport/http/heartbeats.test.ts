import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Heartbeats } from "./heartbeats.ts";

describe("the heartbeats of streams (R6)", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("are sent once per period, from one timer for all streams", () => {
    const heartbeats = new Heartbeats(15_000);
    const beats = Array.from({ length: 500 }, () => 0);
    beats.forEach((_, index) => {
      heartbeats.add({
        beat: () => beats.splice(index, 1, (beats[index] ?? 0) + 1),
      });
      vi.advanceTimersByTime(10);
    });
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(60_000);
    expect(new Set(beats)).toEqual(new Set([4]));
  });

  it("are spread over the period as the starts of the streams were", () => {
    const heartbeats = new Heartbeats(15_000);
    let beats = 0;
    for (let index = 0; index < 600; index++) {
      heartbeats.add({ beat: () => beats++ });
      vi.advanceTimersByTime(25);
    }
    for (let tick = 0; tick < 60; tick++) {
      beats = 0;
      vi.advanceTimersByTime(250);
      expect(beats).toBeLessThanOrEqual(20);
    }
  });

  it("end with their streams, and the timer with the last of them", () => {
    const heartbeats = new Heartbeats(1000);
    let beats = 0;
    const [one, other] = [{ beat: () => beats++ }, { beat: () => beats++ }];
    const tick = heartbeats.add(one);
    heartbeats.add(other);
    heartbeats.remove(one, tick);
    heartbeats.remove(one, tick);
    vi.advanceTimersByTime(1000);
    expect([beats, vi.getTimerCount()]).toEqual([1, 1]);
    heartbeats.remove(other, tick);
    expect(vi.getTimerCount()).toBe(0);
    heartbeats.add(one);
    expect(vi.getTimerCount()).toBe(1);
  });
});
