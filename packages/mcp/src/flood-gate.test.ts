import { describe, expect, it } from "vitest";
import { FloodGate } from "./flood-gate.ts";

describe("FloodGate", () => {
  it("accepts the maximum in every second", () => {
    const clock = { nowMs: 0 };
    const gate = new FloodGate(() => clock.nowMs);
    for (; clock.nowMs < 10_000; clock.nowMs += 1000) {
      expect(() => gate.count(5000, 1024)).not.toThrow();
    }
  });

  it("throws for too many messages and for too many bytes", () => {
    const gate = new FloodGate(() => 0);
    gate.count(5000, 0);
    expect(() => gate.count(1, 0)).toThrow(
      "it sent more than 5000 messages within a second",
    );
    expect(() => new FloodGate(() => 0).count(1, 129 * 1024 * 1024)).toThrow(
      /more than \d+ bytes within a second/,
    );
  });
});
