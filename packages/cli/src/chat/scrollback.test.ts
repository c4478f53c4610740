import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { TaskItem, TaskSnapshot } from "@devtool/client";
import {
  ArtifactSchema,
  emptyTask,
  PartSchema,
  Role,
  type Task,
  TaskState,
  type ToolCallSchema,
  ToolCallStatus,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import type { LineStyle } from "../render/style.ts";
import { Scrollback } from "./scrollback.ts";

const style: LineStyle = { paint: (_look, text) => text, columns: 60 };

describe("the scrollback of a task", () => {
  it("prints each block of a growing text once, and keeps the rest live", () => {
    const scrollback = new Scrollback();
    const first = working(text("One.\n\nTwo.\n\nTh"));
    expect(printed(scrollback, first)).toEqual(["● One.", ""]);
    expect(scrollback.live(first, style)).toEqual(["  Two.", "", "  Th", ""]);
    expect(
      printed(scrollback, working(text("One.\n\nTwo.\n\nThree."))),
    ).toEqual([]);
    const whole = ended(TaskState.COMPLETED, text("One.\n\nTwo.\n\nThree."));
    expect(printed(scrollback, whole)).toEqual(["  Two.", "", "  Three.", ""]);
    expect(printed(scrollback, whole)).toEqual([]);
  });

  it("prints the same text however it was cut into pieces", () => {
    const whole =
      "# Title\n\nSome *words*.\n\n- a\n- b\n\n```js\nlet a;\n\nlet b;\n```\n\nEnd.";
    const atOnce = printed(
      new Scrollback(),
      ended(TaskState.COMPLETED, text(whole)),
    );
    expect(atOnce).toContain("● # Title");
    for (const size of [1, 2, 3, 7, 20]) {
      const scrollback = new Scrollback();
      const lines: string[] = [];
      for (let end = size; end < whole.length; end += size) {
        lines.push(...printed(scrollback, working(text(whole.slice(0, end)))));
      }
      lines.push(
        ...printed(scrollback, ended(TaskState.COMPLETED, text(whole))),
      );
      expect(lines).toEqual(atOnce);
    }
  });

  it("prints a long code block line by line, the same however it was cut, and renders a bounded number of lines for each piece", () => {
    for (const fence of ["```", "~~~~"]) {
      const code = Array.from({ length: 400 }, (_, line) =>
        line % 3 === 0 ? "" : `let line${line} = \`x\`;`,
      );
      const whole = [
        "Before.",
        "",
        `${fence}js`,
        ...code,
        fence,
        "",
        "After.",
      ].join("\n");
      const atOnce = printed(
        new Scrollback(),
        ended(TaskState.COMPLETED, text(whole)),
      );
      for (const size of [11, 40, 900]) {
        const scrollback = new Scrollback();
        const lines: string[] = [];
        let rendered = 0;
        let pieces = 0;
        for (let end = size; end < whole.length; end += size) {
          const snapshot = working(text(whole.slice(0, end)));
          const settled = printed(scrollback, snapshot);
          lines.push(...settled);
          rendered += settled.length + scrollback.live(snapshot, style).length;
          pieces++;
        }
        lines.push(
          ...printed(scrollback, ended(TaskState.COMPLETED, text(whole))),
        );
        expect(lines).toEqual(atOnce);
        // A piece renders no more than the lines that are open, and those that
        // it brings.
        expect(rendered).toBeLessThan(pieces * 70 + 2 * code.length);
      }
    }
  });

  it("prints a long list item by item, the same however it was cut", () => {
    for (const mark of [
      () => "-",
      (item: number) => `${item + 1}.`,
      (item: number) => `${item + 7})`,
    ]) {
      const items = Array.from(
        { length: 90 },
        (_, item) => `${mark(item)} item ${item}\n    - below it\n`,
      );
      const whole = `Before.\n\n${items.join("")}\nAfter.`;
      const atOnce = printed(
        new Scrollback(),
        ended(TaskState.COMPLETED, text(whole)),
      );
      for (const size of [11, 40, 900]) {
        const scrollback = new Scrollback();
        const lines: string[] = [];
        for (let end = size; end < whole.length; end += size) {
          lines.push(
            ...printed(scrollback, working(text(whole.slice(0, end)))),
          );
        }
        expect(lines.length).toBeGreaterThan(items.length);
        lines.push(
          ...printed(scrollback, ended(TaskState.COMPLETED, text(whole))),
        );
        expect(lines).toEqual(atOnce);
      }
    }
  });

  it("prints a long table in pieces, each with the header row, and each row once", () => {
    const scrollback = new Scrollback();
    const rows = Array.from(
      { length: 150 },
      (_, row) => `| ${row} | row ${row} |\n`,
    );
    const whole = `| Number | Name |\n|---|---|\n${rows.join("")}\nAfter.`;
    const lines: string[] = [];
    for (let end = 7; end < whole.length; end += 7) {
      lines.push(...printed(scrollback, working(text(whole.slice(0, end)))));
    }
    lines.push(...printed(scrollback, ended(TaskState.COMPLETED, text(whole))));
    expect(lines.filter((line) => /Number +│ Name/.test(line))).toHaveLength(3);
    const found = lines.flatMap(
      (line) => /^ *(\d+) +│ row \d+/.exec(line)?.[1] ?? [],
    );
    expect(found).toEqual(rows.map((_, row) => String(row)));
    expect(lines.at(-2)).toBe("  After.");
  });

  it.each([
    ["list", "", (line: number) => `- item ${line}\n`],
    ["numbered list", "", (line: number) => `${line + 1}. item\n`],
    ["table", "| A | B |\n|---|---|\n", (line: number) => `| ${line} | b |\n`],
    ["code block", "```\n", (line: number) => `line ${line}\n`],
  ])(
    "renders a growing %s in work that is linear in its length",
    (_block, head, lineOf) => {
      const renderedLines = (count: number): number => {
        const scrollback = new Scrollback();
        let written = head;
        let rendered = 0;
        for (let line = 0; line < count; line++) {
          written += lineOf(line);
          // A terminal renders each line as it comes. Every 40th line gives the
          // same ratio in less time.
          if (line % 40 !== 0) continue;
          const snapshot = working(text(written));
          rendered +=
            printed(scrollback, snapshot).length +
            scrollback.live(snapshot, style).length;
        }
        return rendered;
      };
      expect(renderedLines(8000) / renderedLines(2000)).toBeLessThan(4.5);
    },
    60_000,
  );

  it("keeps the order: items after a running call wait for its end", () => {
    const scrollback = new Scrollback();
    const later = call("b", ToolCallStatus.SUCCEEDED, "second");
    const snapshot = working(call("a", ToolCallStatus.EXECUTING, ""), later);
    expect(printed(scrollback, snapshot)).toEqual([]);
    expect(scrollback.live(snapshot, style)).toHaveLength(2);
    const both = printed(
      scrollback,
      working(call("a", ToolCallStatus.SUCCEEDED, "first"), later),
    );
    expect(both.filter((line) => line.includes("│"))).toEqual([
      "  │ first",
      "  │ second",
    ]);
  });

  it("does not show a call that waits for an answer, since its question shows it", () => {
    const asking = call("a", ToolCallStatus.PENDING, "", {
      confirmationRequest: { options: [] },
    });
    expect(new Scrollback().live(working(asking), style)).toEqual([]);
  });

  it("does not repeat an answer that was given here, nor the diff of its question", () => {
    const diff = { formattedDiff: "@@ -1 +1 @@\n-old\n+new\n" };
    const items = [
      item(Role.USER, {
        content: {
          case: "confirmation",
          value: { toolCallId: "a", selectedOptionId: "cancel" },
        },
      }),
      call("a", ToolCallStatus.SUCCEEDED, "", {
        result: {
          case: "output",
          value: { result: { case: "diff", value: diff } },
        },
      }),
    ];
    const here = new Scrollback();
    here.noteAnswer("a", "as asked");
    const waiting = working(call("b", ToolCallStatus.EXECUTING, ""), ...items);
    expect(here.live(waiting, style).join("\n")).not.toContain("answered");
    expect(printed(here, working(...items)).join("\n")).not.toMatch(
      /answered|new/,
    );
    expect(printed(new Scrollback(), working(...items)).join("\n")).toMatch(
      /· answered: decline[\s\S]*new/,
    );
    const edited = new Scrollback();
    edited.noteAnswer("a", "edited");
    const written = printed(edited, working(...items)).join("\n");
    expect(written, "U12").not.toContain("answered");
    expect(written, "U12: what was written after an edit").toContain("new");
  });

  it("prints an artifact as it comes: finished lines, pieces of one text, and what replaces it at the end of the turn", () => {
    const scrollback = new Scrollback();
    const at = (state: TaskState, ...made: readonly (readonly string[])[]) => {
      const task = { ...emptyTask(), id: "t", state };
      const artifacts = made.map(([artifactId = "", ...texts]) =>
        create(ArtifactSchema, {
          artifactId,
          parts: texts.map((value) => ({
            content: { case: "text" as const, value },
          })),
        }),
      );
      return snapshotOf({ ...task, artifacts }, []);
    };
    const shown = (snapshot: TaskSnapshot) => [
      printed(scrollback, snapshot),
      scrollback.live(snapshot, style),
    ];
    const { WORKING, COMPLETED } = TaskState;
    expect(shown(at(WORKING, ["x", "fir"]))).toEqual([
      [],
      ["· artifact: x", "    fir"],
    ]);
    expect(shown(at(WORKING, ["x", "fir", "st\nsec"]))).toEqual([
      ["· artifact: x", "    first"],
      ["    sec"],
    ]);
    const two = [
      ["x", "fir", "st\nsec"],
      ["y", "draft\n"],
    ];
    expect(shown(at(WORKING, ...two))).toEqual([
      ["· artifact: y", "    draft"],
      ["· artifact x continued:", "    sec"],
    ]);
    const replaced = [
      ["x", "fir", "st\nsec"],
      ["y", "FINAL\n"],
    ];
    expect(shown(at(WORKING, ...replaced))[0]).toEqual([]);
    expect(shown(at(COMPLETED, ...replaced))).toEqual([
      [
        "· artifact x continued:",
        "    sec",
        "· artifact y replaced, it is now:",
        "    FINAL",
      ],
      [],
    ]);
    expect(shown(at(COMPLETED, ...replaced))).toEqual([[], []]);
    const other = at(COMPLETED, ["x", "of another task"]);
    const task = { ...other.task, id: "u" };
    expect(shown({ ...other, task })[0]).toEqual([
      "· artifact: x",
      "    of another task",
    ]);
  });

  it("prints an artifact once, and the end of each turn", () => {
    const scrollback = new Scrollback();
    const artifacts = [
      create(ArtifactSchema, {
        artifactId: "r",
        name: "report",
        parts: [{ content: { case: "text", value: "done" } }],
      }),
    ];
    const failed = ended(TaskState.FAILED, text("One."));
    const first = {
      ...failed,
      task: { ...failed.task, artifacts, error: "the model is\u001b[2J gone" },
    };
    expect(printed(scrollback, first)).toEqual([
      "● One.",
      "",
      "· artifact: report",
      "    done",
      "failed: the model is\\u{1b}[2J gone",
    ]);
    expect(printed(scrollback, first)).toEqual([]);
    const second = ended(TaskState.FAILED, text("One."), text("Two."));
    expect(
      printed(scrollback, { ...second, task: { ...second.task, artifacts } }),
    ).toEqual(["● Two.", "", "failed"]);
  });
});

function printed(scrollback: Scrollback, snapshot: TaskSnapshot): string[] {
  return scrollback.advance(snapshot, style).flatMap(({ lines }) => lines);
}

function working(...items: readonly TaskItem[]): TaskSnapshot {
  return snapshotOf(
    { ...emptyTask(), id: "t", state: TaskState.WORKING },
    items,
  );
}

function ended(state: TaskState, ...items: readonly TaskItem[]): TaskSnapshot {
  return snapshotOf({ ...emptyTask(), id: "t", state }, items);
}

function snapshotOf(task: Task, items: readonly TaskItem[]): TaskSnapshot {
  const keyed = items.map((each, index) => ({ ...each, key: String(index) }));
  const nothing = { notice: undefined, lost: undefined, error: undefined };
  return {
    task,
    items: keyed,
    questions: [],
    plan: [],
    unsent: [],
    ...nothing,
  };
}

function text(value: string): TaskItem {
  return item(Role.AGENT, { content: { case: "text", value } });
}

function call(
  toolCallId: string,
  status: ToolCallStatus,
  output: string,
  more: MessageInitShape<typeof ToolCallSchema> = {},
): TaskItem {
  const result = {
    case: "output",
    value: { result: { case: "text", value: output } },
  } as const;
  const value = {
    toolCallId,
    toolName: "read_file",
    status,
    ...(output !== "" && { result }),
    ...more,
  };
  return item(Role.AGENT, { content: { case: "toolCall", value } });
}

function item(role: Role, part: MessageInitShape<typeof PartSchema>): TaskItem {
  return { key: "", role, part: create(PartSchema, part) };
}
