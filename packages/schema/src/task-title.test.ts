import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { foldTitle, titleLine } from "@devtool/internal/title-text";
import { describe, expect, it } from "vitest";
import { TaskCreatedSchema } from "./gen/devtool/v1alpha/task_event_pb.ts";
import { initialTitle } from "./task-title.ts";

const bidi = String.fromCodePoint(0x202e);
const FAMILY = "👨‍👩‍👧";
const zeroWidth = String.fromCodePoint(0x200b);

describe("the title of a new task", () => {
  it.each([
    ["its first line", "fix the bug\nin main.ts", "fix the bug"],
    [
      "the first line that has text",
      "\n \r\n\t fix  the\tbug \nnow",
      "fix the bug",
    ],
    [
      "without control and bidirectional characters",
      `fix\u0007 ${bidi}gpj.exe${zeroWidth}`,
      "fix gpj.exe",
    ],
    ["without the escape sequence of a terminal", "\u001b[31mred", "[31mred"],
    [
      "after a line of invisible characters alone",
      `${zeroWidth}${bidi}\nseen`,
      "seen",
    ],
    ["up to a line separator of Unicode", "one\u2028two\u2029three", "one"],
    [
      "with whole emoji",
      `${FAMILY} ❤️ 1️⃣ 🏳️‍🌈 👩🏽‍💻`,
      `${FAMILY} ❤️ 1️⃣ 🏳️‍🌈 👩🏽‍💻`,
    ],
    [
      "without joiners and variations elsewhere",
      "a\u200db 1\ufe0f 👨\u200d \u200d👧 👨\u200d\u200d👧 ❤\ufe0f\ufe0f",
      "ab 1 👨 👧 👨👧 ❤️",
    ],
    ["empty if nothing can be seen", `${zeroWidth}\n\u0000`, ""],
  ])("is %s", (_, text, title) => expect(titleOf(text)).toBe(title));

  it("has at most 80 characters, of which none is cut in two", () => {
    expect(titleOf("x".repeat(80))).toBe("x".repeat(80));
    expect(titleOf("x".repeat(81))).toBe(`${"x".repeat(79)}…`);
    expect(titleOf("\u{1f600}".repeat(5_000_000 / 2))).toBe(
      `${"\u{1f600}".repeat(79)}…`,
    );
  });

  it("is cut between the characters that people see", () => {
    const [x74, x76] = ["x".repeat(74), "x".repeat(76)];
    expect(titleOf(`${x74}${FAMILY}y`)).toBe(`${x74}${FAMILY}y`);
    expect(titleOf(`${x74}${FAMILY}yy`)).toBe(`${x74}${FAMILY}…`);
    expect(titleOf(`${x76}${FAMILY}`)).toBe(`${x76}…`);
    expect(titleOf(`${x76} e\u0301\u0301\u0301`)).toBe(`${x76}…`);
  });

  it("has the beginning of one character that is longer than a title", () => {
    expect(titleOf(`e${"\u0301".repeat(200)}`)).toBe(
      `e${"\u0301".repeat(78)}…`,
    );
  });

  it("is the text of a later part where the first has none", () => {
    const parts = [
      { content: { case: "data", value: { a: 1 } } },
      textPart(" "),
      textPart("hi"),
    ] as const;
    expect(initialTitle(created({ message: { parts: [...parts] } }))).toBe(
      "hi",
    );
  });

  it("is the slash command", () => {
    expect(
      initialTitle(
        created({ command: { commandPath: ["memory", "add"], args: "a\nb" } }),
      ),
    ).toBe("/memory add a");
  });

  it("is empty without text", () => expect(initialTitle(created({}))).toBe(""));
});

describe("a title that is searched", () => {
  it("is found in any case and form", () => {
    expect(foldTitle("ÄRGER ﬁx Ⅸ")).toBe("ärger fix ix");
    expect(titleLine("Ärger")).toBe("Ärger");
  });
});

function titleOf(text: string): string {
  return initialTitle(created({ message: { parts: [textPart(text)] } }));
}

function textPart(value: string) {
  return { content: { case: "text" as const, value } };
}

function created(init: MessageInitShape<typeof TaskCreatedSchema>) {
  return create(TaskCreatedSchema, init);
}
