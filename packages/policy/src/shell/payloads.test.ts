import { describe, expect, it } from "vitest";
import { payloadOf } from "./payloads.ts";

describe("the strings of an awk program", () => {
  it("are each read once, even an open one: a quote within it does not start another", () => {
    const guesses = (program: string): readonly string[] | undefined =>
      payloadOf({ words: ["awk", program] })?.guesses;
    expect(
      guesses('BEGIN { "rm a" | getline x; system("rm \\"b\\"") }'),
    ).toEqual(["rm a", 'rm \\"b\\"']);
    expect(guesses(`system("${'\\"'.repeat(2000)}`)).toHaveLength(1);
    expect(guesses('system("rm c\\')).toEqual(["rm c\\"]);
  });
});
