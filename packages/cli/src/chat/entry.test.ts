import { create } from "@bufbuild/protobuf";
import { PartSchema, Role } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { breakBetween, entryOf } from "./entry.ts";

const style = { paint: (_look: string, text: string) => text, columns: 40 };

describe("an entry of the chat", () => {
  it("U12: folds long words of the user", () => {
    const said = (lines: number): string =>
      Array.from({ length: lines }, (_, line) => `line ${line}`).join("\n");
    const entry = (lines: number) =>
      entryOf(
        {
          key: "a",
          role: Role.USER,
          part: create(PartSchema, {
            content: { case: "text", value: said(lines) },
          }),
        },
        style,
      );
    expect(entry(12)?.lines).toHaveLength(12);
    expect(entry(12)?.whole).toBeUndefined();
    expect(entry(30)?.lines).toEqual([
      "> line 0",
      "  line 1",
      "  line 2",
      "  [27 more lines: Ctrl-O]",
    ]);
    expect(entry(30)?.whole).toHaveLength(30);
  });

  it("says who answered a call, and where", () => {
    const part = create(PartSchema, {
      content: { case: "toolCall", value: { toolName: "glob" } },
      toolCallDetail: {
        answerer: { principal: "operator", clientLabel: "VS\u202e Code" },
      },
    });
    expect(entryOf({ key: "a", role: Role.AGENT, part }, style)?.lines).toEqual(
      ["? glob", "  · answered by operator (VS\\u{202e}", "      Code)"],
    );
  });

  it.each([
    ["a · bb · ccc", 20, ["a · bb · ccc"]],
    ["a · bb · ccc", 8, ["a · bb", "ccc"]],
    ["a · a long part", 8, ["a", "a long part"]],
  ])(
    "U9: breaks %j in %i columns between its parts",
    (line, columns, parts) => {
      expect(breakBetween(line, " · ", columns)).toEqual(parts);
    },
  );
});
