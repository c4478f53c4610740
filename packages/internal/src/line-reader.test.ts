import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LineReader } from "./line-reader.ts";

describe("LineReader", () => {
  it("returns the same lines wherever the bytes are split", () => {
    const text = fc.array(
      fc
        .string({ unit: "grapheme", maxLength: 20 })
        .map((line) => line.replaceAll(/[\r\n]/g, "")),
    );
    fc.assert(
      fc.property(text, fc.array(fc.nat(40)), (lines, cuts) => {
        const reader = new LineReader(10_000);
        let bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
        const found: string[] = [];
        for (const cut of cuts) {
          found.push(...reader.push(bytes.subarray(0, cut)));
          bytes = bytes.subarray(cut);
        }
        expect([...found, ...reader.push(bytes)]).toEqual(lines);
      }),
    );
  });

  it("accepts a line of the maximum size, and refuses one more byte, finished or not", () => {
    expect([...new LineReader(4).push(Buffer.from("1234\n"))]).toEqual([
      "1234",
    ]);
    expect(() => [...new LineReader(4).push(Buffer.from("12345\n"))]).toThrow(
      "it wrote a line of more than 4 bytes",
    );
    const reader = new LineReader(4);
    expect([...reader.push(Buffer.from("123"))]).toEqual([]);
    expect(() => [...reader.push(Buffer.from("45"))]).toThrow(
      "it wrote a line of more than 4 bytes",
    );
  });

  it("yields the lines before one that is too long", () => {
    const lines = new LineReader(4).push(Buffer.from("1\n2\r\n12345\n"));
    expect([lines.next().value, lines.next().value]).toEqual(["1", "2"]);
    expect(() => lines.next()).toThrow("it wrote a line of more than 4 bytes");
  });
});
