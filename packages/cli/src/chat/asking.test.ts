import { create } from "@bufbuild/protobuf";
import type { AskedToolCall } from "@devtool/client";
import { emptyTask, ToolCallSchema, ToolCallStatus } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { ManualTimers } from "../../test/manual-timers.ts";
import type { LineStyle } from "../render/style.ts";
import type { TerminalInput } from "../terminal/terminal.ts";
import { Asking } from "./asking.ts";

const style: LineStyle = { paint: (_look, text) => text, columns: 80 };

describe("a question to the user", () => {
  it("is answered by a key of its menu, and is not put again while the answer is on its way", () => {
    const played = play();
    played.put("a");
    expect(played.asking.draw(40, style)).toEqual(
      expect.arrayContaining(["  [y] Allow once", "  [n] No"]),
    );
    played.draw();
    played.press("y");
    expect(played.told).toEqual(["answer a proceed_once {}"]);
    expect(played.asking.call).toBeUndefined();
    played.put("a");
    expect(played.asking.call).toBeUndefined();
    played.put("b");
    expect(played.asking.call?.toolCallId).toBe("b");
  });

  it("takes no key that its menu does not have", () => {
    const played = play();
    played.put("a");
    played.draw();
    played.press("q");
    expect(played.told).toEqual([]);
    expect(played.asking.call?.toolCallId).toBe("a");
  });

  it("is declined with words, and Esc goes back to the menu", () => {
    const played = play();
    played.put("a");
    played.draw();
    played.press("d");
    expect(played.asking.prompt).toBe("why not > ");
    expect(played.asking.back()).toBe(true);
    expect(played.asking.prompt).toBe("choose > ");
    expect(played.asking.back()).toBe(false);
    played.press("d");
    played.press("y", "o", "\r");
    expect(played.told).toEqual(['answer a cancel {"text":"yo"}']);
  });

  it("takes a pasted reason, and no pasted answer", () => {
    const played = play();
    played.put("a");
    played.draw();
    played.asking.take({ case: "paste", text: "y" });
    expect(played.told).toEqual(["aside paste"]);
    played.timers.pass(500);
    played.press("d");
    played.asking.take({ case: "paste", text: "too large" });
    played.press("\r");
    expect(played.told.slice(1)).toEqual([
      'answer a cancel {"text":"too large"}',
    ]);
  });

  it("opens the editor for a proposed file, and is put again when that failed", () => {
    const played = play();
    played.put("a");
    played.draw();
    played.press("e");
    expect(played.told).toEqual(["edit a file"]);
    played.asking.again();
    expect(played.asking.keys.isDrawn).toBe(false);
    played.draw();
    played.press("n");
    expect(played.told.slice(1)).toEqual(["answer a cancel {}"]);
  });

  it("is put again after an answer that did not count", () => {
    const played = play();
    played.put("a");
    played.draw();
    played.press("y");
    played.asking.again();
    played.put("a");
    expect(played.asking.call?.toolCallId).toBe("a");
  });

  it("shows all of itself on demand when it is larger than the terminal", () => {
    const played = play();
    played.put("a", "+line\n".repeat(60));
    const lines = played.asking.draw(24, style);
    expect(lines.length).toBeLessThanOrEqual(24);
    expect(lines).toContain("  [v] View all of it");
    played.draw(24);
    played.press("v");
    expect(played.told).toEqual(["view a"]);
    expect(played.asking.draw(120, style)).not.toContain(
      "  [v] View all of it",
    );
  });

  it.each([1, 2, 4])(
    "V11: allows nothing on %i rows before all of it was printed",
    (rows) => {
      const played = play();
      played.put("a", "+line\n".repeat(9));
      const small: LineStyle = { ...style, columns: 20 };
      expect(played.asking.draw(rows, small).length).toBeLessThanOrEqual(
        Math.max(2, rows),
      );
      played.asking.keys.drawn();
      played.timers.pass(500);
      played.press("y", "a");
      expect(played.told).toEqual([]);
      played.press("v");
      played.asking.draw(rows, small);
      played.asking.keys.drawn();
      played.press("y");
      expect(played.told).toEqual(["view a", "answer a proceed_once {}"]);
    },
  );

  it("loses the words and the keys that were meant for another one", () => {
    const played = play();
    played.put("a");
    played.draw();
    played.press("d");
    played.press("n", "o");
    played.put("b");
    expect([played.asking.words.text, played.asking.prompt]).toEqual(["", ""]);
    played.press("y");
    expect(played.told).toEqual(["aside y"]);
  });
});

/** Plays a user who is asked. */
function play() {
  const told: string[] = [];
  const timers = new ManualTimers();
  const asking = new Asking({
    timers,
    onChange: () => undefined,
    onAside: (input) =>
      told.push(`aside ${input.case === "key" ? input.text : input.case}`),
    onAnswer: ({ call }, { id }, changes) =>
      told.push(`answer ${call.toolCallId} ${id} ${JSON.stringify(changes)}`),
    onViewAll: ({ toolCallId }) => told.push(`view ${toolCallId}`),
    onEdit: ({ call }, { edits }) =>
      told.push(`edit ${call.toolCallId} ${edits}`),
  });
  const calls = new Map<string, AskedToolCall>();
  const put = (toolCallId: string, diff = "+new\n"): void => {
    const call = calls.get(toolCallId) ?? askingCall(toolCallId, diff);
    calls.set(toolCallId, call);
    asking.put(call, emptyTask());
  };
  const draw = (rows = 40): void => {
    asking.draw(rows, style);
    asking.keys.drawn();
  };
  const press = (...keys: readonly string[]): void => {
    for (const key of keys) {
      asking.take(keyInput(key));
      timers.pass(50);
    }
  };
  return { asking, told, timers, put, draw, press };
}

function keyInput(key: string): TerminalInput {
  return {
    case: "key",
    text: key === "\r" ? "" : key,
    key: { name: key === "\r" ? "return" : key },
  };
}

/** Returns a call that asks whether a file may be written. */
function askingCall(toolCallId: string, formattedDiff: string): AskedToolCall {
  const options = [
    { id: "proceed_once", name: "Allow once" },
    { id: "cancel", name: "No" },
  ];
  const details = {
    case: "fileEditDetails",
    value: { fileName: "f", filePath: "/w/f", formattedDiff },
  } as const;
  const confirmationRequest = { options, details };
  return create(ToolCallSchema, {
    toolCallId,
    toolName: "write_file",
    status: ToolCallStatus.PENDING,
    confirmationRequest,
  });
}
