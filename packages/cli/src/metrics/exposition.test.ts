import { describe, expect, it } from "vitest";
import { metricText } from "./exposition.ts";
import { Counter, Histogram } from "./instruments.ts";

describe("metrics in the text format", () => {
  it("have buckets that add up", () => {
    const histogram = new Histogram(
      { name: "a.h", help: "Help.", unit: "s", labels: ["l.m", "n"] },
      [1, 10],
    );
    for (const seconds of [0.5, 1, 5, 50]) histogram.record(seconds, "x");
    expect(metricText(histogram.read())).toBe(
      `# HELP a_h_seconds Help.
# TYPE a_h_seconds histogram
a_h_seconds_bucket{l_m="x",le="1"} 2
a_h_seconds_bucket{l_m="x",le="10"} 3
a_h_seconds_bucket{l_m="x",le="+Inf"} 4
a_h_seconds_sum{l_m="x"} 56.5
a_h_seconds_count{l_m="x"} 4
`,
    );
  });

  it("keep hostile names in their label, and count new ones beyond 64 as _other", () => {
    const counter = new Counter({
      ...{ name: "c", help: "Help.", unit: "{call}", labels: ["l"] },
    });
    counter.add(1, 'a"} 1\nb{x="\\\u001b');
    counter.add(1, "y".repeat(1_000_000));
    for (let index = 0; index < 1000; index++) counter.add(1, `tool ${index}`);
    const lines = metricText(counter.read()).trimEnd().split("\n").slice(2);
    expect(lines[0]).toBe('c_total{l="a\\"} 1\\\\u{a}b{x=\\"\\\\\\\\u{1b}"} 1');
    expect(lines[1]).toBe(`c_total{l="${"y".repeat(80)}"} 1`);
    expect(lines).toHaveLength(65);
    expect(lines.at(-1)).toBe('c_total{l="_other"} 938');
  });
});
