import { describe, expect, it } from "vitest";
import { LiveOutput } from "./live-output.ts";

const MAX_BYTES = 1000;

describe("LiveOutput", () => {
  it("returns new output at once, then every tenth of a second", () => {
    const output = new LiveOutput(MAX_BYTES);
    expect(output.take(0)).toBeUndefined();
    output.push("one\n");
    expect(output.take(0)).toBe("one\n");
    expect(output.take(500)).toBeUndefined();
    output.push("two\n");
    expect(output.take(500)).toBe("one\ntwo\n");
    output.push("three\n");
    expect(output.take(599)).toBeUndefined();
    expect(output.take(600)).toBe("one\ntwo\nthree\n");
  });

  it("keeps the end of output that is too long, and says how much it cut", () => {
    const output = new LiveOutput(4);
    output.push("12345");
    output.push("678");
    expect(output.text).toBe("[first 4 of 8 characters cut]\n5678");
  });

  it.each([1, 10, 1000])(
    "shows of a flood of a line each %d ms at most four characters for each that was produced, and one snapshot a second beside them (TOOL-7)",
    (lineMs) => {
      const output = new LiveOutput(MAX_BYTES);
      let produced = 0;
      let shown = 0;
      for (let line = 0; line < 20_000; line++) {
        const text = `line ${line}\n`;
        produced += text.length;
        output.push(text);
        shown += (output.take(line * lineMs) ?? "").slice(-MAX_BYTES).length;
      }
      const seconds = 20 * lineMs;
      expect(shown).toBeLessThanOrEqual(
        4 * produced + MAX_BYTES * (seconds + 1),
      );
      expect(shown).toBeGreaterThan(100 * MAX_BYTES);
    },
  );
});
