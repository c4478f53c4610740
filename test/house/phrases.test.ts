import { describe, expect, it } from "vitest";
import { findPhrases } from "../../scripts/phrases.ts";

describe("the check of phrases", () => {
  it.each([
    "A request may have so many bytes.",
    "Waits so long for an answer.",
    "the model's answer is no JSON",
    "/** Tells whether the task has ended. */",
    "What a host is made of.",
    "Who is let in.",
    "A client that went away.",
    "All of them are one principal, which may nothing.",
  ])("finds what is wrong in %j", (text) => {
    expect(findPhrases(`A line.\n${text}`)).toMatchObject([{ line: 2 }]);
  });

  it.each([
    "// A request may have so\n  // many bytes.",
    " * the model's answer is\n *\tno JSON",
  ])("finds what a comment breaks in %j", (text) => {
    expect(findPhrases(`A line.\n${text}`)).toMatchObject([{ line: 2 }]);
  });

  it.each([
    "There are as many events as it wrote.",
    "A reader may stay so long as the task runs.",
    "There is no task of that name.",
    "The task is no longer at work.",
    "It tells whether a case passed.",
  ])("leaves %j alone", (text) => {
    expect(findPhrases(text)).toEqual([]);
  });

  it("gives the phrases in the order of the lines, each with a remedy", () => {
    const found = findPhrases("is no JSON\n\nso many bytes");
    expect(found.map(({ line, phrase }) => [line, phrase])).toEqual([
      [1, "is no JSON"],
      [3, "so many"],
    ]);
    expect(found.every(({ remedy }) => remedy.length > 0)).toBe(true);
  });
});
