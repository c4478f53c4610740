import { describe, expect, it } from "vitest";
import {
  type Draft,
  deleteTo,
  draftOf,
  expandDraft,
  insertPaste,
  insertText,
  layoutDraft,
  moveCursor,
  moveLine,
} from "./draft.ts";

describe("a draft", () => {
  it("takes text where its cursor is", () => {
    const draft = insertText(
      moveCursor(draftOf("ac"), "character before"),
      "b",
    );
    expect(draft).toMatchObject({ text: "abc", cursor: 2 });
  });

  it("counts characters as a person does", () => {
    expect(deleteTo(draftOf("a👩‍👩‍👧"), "character before").text).toBe("a");
    expect(moveCursor(draftOf("ä"), "character before").cursor).toBe(0);
  });

  it.each([
    ["one two|", "word before", "one |two"],
    ["one two  |", "word before", "one |two  "],
    ["|one two", "word after", "one| two"],
    ["one\ntw|o", "line start", "one\n|two"],
    ["o|ne\ntwo", "line end", "one|\ntwo"],
    ["one\ntw|o", "text start", "|one\ntwo"],
    ["o|ne\ntwo", "text end", "one\ntwo|"],
  ] as const)("moves in %j by %s", (from, place, to) => {
    expect(shown(moveCursor(marked(from), place))).toBe(to);
  });

  it.each([
    ["one two|", "word before", "one |"],
    ["one| two", "line end", "one|"],
    ["one\ntwo|", "line start", "one\n|"],
    ["a|b", "character after", "a|"],
    ["|ab", "character before", "|ab"],
  ] as const)("deletes in %j to %s", (from, place, to) => {
    expect(shown(deleteTo(marked(from), place))).toBe(to);
  });

  it("moves between lines, and says when there is none", () => {
    expect(shown(moveLine(marked("one\ntwo th|ree"), -1))).toBe(
      "one|\ntwo three",
    );
    expect(shown(moveLine(marked("o|ne\ntwo"), 1))).toBe("one\nt|wo");
    expect(moveLine(marked("o|ne"), -1)).toBeUndefined();
    expect(moveLine(marked("o|ne"), 1)).toBeUndefined();
    expect(shown(moveLine(marked("one\n|"), -1))).toBe("|one\n");
  });

  it("shows a paste of several lines as a label, which is sent in full and deleted as a whole", () => {
    const draft = insertPaste(draftOf("see "), "a\r\nb\u001b[2J\n\n");
    expect(draft.text).toBe("see [paste 1: 2 lines]");
    expect(expandDraft(draft)).toBe("see a\nb[2J");
    expect(deleteTo(draft, "character before").text).toBe("see ");
    expect(insertPaste(draftOf(""), "one\n").text).toBe("one");
  });

  it.each([
    ["ab|c", { lines: ["abc"], row: 0, column: 2 }],
    ["abcd|", { lines: ["abcd", ""], row: 1, column: 0 }],
    ["abcd|ef", { lines: ["abcd", "ef"], row: 1, column: 0 }],
    ["a\n|b", { lines: ["a", "b"], row: 1, column: 0 }],
    ["a|\nb", { lines: ["a", "b"], row: 0, column: 1 }],
    ["寸寸寸|", { lines: ["寸寸", "寸"], row: 1, column: 2 }],
    ["a\n|", { lines: ["a", ""], row: 1, column: 0 }],
    ["|", { lines: [""], row: 0, column: 0 }],
  ])("is laid out in 4 columns: %j", (text, layout) => {
    expect(layoutDraft(marked(text), 4)).toEqual(layout);
  });
});

/** Reads a draft with its cursor written as `|`. */
function marked(text: string): Draft {
  return { text: text.replace("|", ""), cursor: text.indexOf("|"), pastes: [] };
}

function shown(draft: Draft | undefined): string | undefined {
  return (
    draft &&
    `${draft.text.slice(0, draft.cursor)}|${draft.text.slice(draft.cursor)}`
  );
}
