import { create } from "@bufbuild/protobuf";
import { ToolCallSchema, ToolCallStatus } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { drawQuestion, type MenuSize, menuLines } from "./question.ts";

const diff = Array.from({ length: 30 }, (_, line) => `+line ${line}`).join(
  "\n",
);
const options = [
  { id: "proceed_once", name: "Allow once" },
  {
    id: "proceed_always",
    name: "Always allow edits of files, in this session",
  },
  { id: "proceed_always_tool", name: "Always allow this tool" },
  { id: "modify_with_editor", name: "Edit" },
  { id: "cancel", name: "Decline" },
];

describe("U6: a question", () => {
  const sizes = [8, 10, 14, 20, 40].flatMap((rows) =>
    [20, 40, 100].flatMap((columns) =>
      (["main", "all"] as const).map((size) => [rows, columns, size] as const),
    ),
  );
  it.each(sizes)(
    "takes at most %i rows of %i columns, with %s answers",
    (rows, columns, size) => {
      const { lines, menu } = draw(rows, columns, size);
      expect(lines[0]).toContain("write_file");
      // All answers may need more rows than a tiny terminal has.
      if (size === "main" && rows >= (columns < 40 ? 14 : 10)) {
        expect(lines.length + menu.length).toBeLessThanOrEqual(rows);
      }
      expect(lines.length).toBeLessThanOrEqual(Math.max(1, rows));
    },
  );

  it("has three main answers and the others behind one, where not all fit", () => {
    expect(draw(18, 100, "main").keys).toEqual(["y", "a", "n", "o", "v"]);
    expect(draw(18, 100, "all").keys).toEqual(
      "yatmen".split("").concat("d", "v"),
    );
    expect(draw(60, 100, "main").keys).toEqual("yatmend".split(""));
  });
});

function draw(rows: number, columns: number, size: MenuSize) {
  const call = create(ToolCallSchema, {
    toolCallId: "a",
    toolName: "write_file",
    status: ToolCallStatus.PENDING,
    confirmationRequest: {
      options,
      details: {
        case: "fileEditDetails",
        value: { filePath: "/w/a.txt", formattedDiff: diff },
      },
    },
  });
  const style = { paint: (_look: string, text: string) => text, columns };
  const { lines, choices } = drawQuestion(call, rows, size, style);
  return {
    lines,
    menu: menuLines(choices, style),
    keys: choices.map(({ key }) => key),
  };
}
