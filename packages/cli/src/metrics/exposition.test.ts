import { describe, expect, it } from "vitest";
import { Counter, Histogram } from "./exposition.ts";

describe("metrics in the text format", () => {
  it("have buckets that add up", () => {
    const histogram = new Histogram(
      { name: "h", help: "Help.", labels: ["l"] },
      [1, 10],
    );
    for (const seconds of [0.5, 1, 5, 50]) histogram.record(seconds, "x");
    expect(histogram.text()).toBe(
      `# HELP h Help.
# TYPE h histogram
h_bucket{l="x",le="1"} 2
h_bucket{l="x",le="10"} 3
h_bucket{l="x",le="+Inf"} 4
h_sum{l="x"} 56.5
h_count{l="x"} 4
`,
    );
  });

  it("keep hostile names in their label, and count new ones beyond 64 as other", () => {
    const counter = new Counter({ name: "c", help: "Help.", labels: ["l"] });
    counter.add('a"} 1\nb{x="\\\u001b');
    counter.add("y".repeat(1_000_000));
    for (let index = 0; index < 1000; index++) counter.add(`tool ${index}`);
    const lines = counter.text().trimEnd().split("\n").slice(2);
    expect(lines[0]).toBe('c{l="a\\"} 1\\\\u{a}b{x=\\"\\\\\\\\u{1b}"} 1');
    expect(lines[1]).toBe(`c{l="${"y".repeat(80)}"} 1`);
    expect(lines).toHaveLength(65);
    expect(lines.at(-1)).toBe('c{l="other"} 938');
  });
});
