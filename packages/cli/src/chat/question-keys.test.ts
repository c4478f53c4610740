import { describe, expect, it } from "vitest";
import { ManualTimers } from "../../test/manual-timers.ts";
import type { TerminalInput } from "../terminal/terminal.ts";
import { QuestionKeys } from "./question-keys.ts";

describe("the keys of a question", () => {
  it("answer with one key, once it is drawn", () => {
    const played = play();
    played.keys.drawn();
    played.type("y");
    played.pass(50);
    expect(played.told).toEqual(["ready", "key y"]);
  });

  it("are no answer before it is drawn, nor in the middle of writing", () => {
    const played = play();
    played.type("y");
    played.keys.drawn();
    played.type("ye");
    played.pass(499);
    played.type("s");
    expect(played.told).toEqual(["aside y", "aside y", "aside e", "aside s"]);
    played.pass(500);
    played.type("y");
    played.pass(50);
    expect(played.told.slice(4)).toEqual(["ready", "key y"]);
  });

  it("are no answer while the user goes on with what was begun before the question", () => {
    const played = play();
    played.keys.noteTyping();
    played.keys.drawn();
    played.type("y");
    expect(played.told).toEqual(["aside y"]);
  });

  it("are no answer in a paste, marked or not", () => {
    const played = play();
    played.keys.drawn();
    played.keys.take({ case: "paste", text: "y" });
    expect(played.told).toEqual(["ready", "aside paste y"]);
    played.pass(500);
    played.type("y\rmore");
    expect(played.told.slice(2)).toEqual([
      "ready",
      "aside y",
      "aside \r",
      "aside m",
      "aside o",
      "aside r",
      "aside e",
    ]);
  });

  it("may be followed by Enter, which means nothing by itself", () => {
    const played = play();
    played.keys.drawn();
    played.type("\r");
    played.pass(50);
    played.type("n\r");
    played.pass(50);
    expect(played.told).toEqual(["ready", "key n"]);
  });

  it("are forgotten when the turn is canceled at once", () => {
    const played = play();
    played.keys.drawn();
    played.type("y\r");
    played.keys.forget();
    played.pass(50);
    played.type("n");
    played.pass(50);
    expect(played.told).toEqual(["ready", "key n"]);
  });

  it("do not answer the next question", () => {
    const played = play();
    played.keys.drawn();
    played.type("y");
    played.keys.reset();
    played.pass(50);
    expect(played.told).toEqual(["ready", "aside y"]);
  });
});

/** Plays keys, with time that passes when the test says so. */
function play() {
  const told: string[] = [];
  const timers = new ManualTimers();
  const keys = new QuestionKeys({
    timers,
    onReady: () => told.push("ready"),
    onKey: (key) => told.push(`key ${key}`),
    onAside: (input) => told.push(`aside ${wordsOf(input)}`),
  });
  const type = (text: string): void => {
    for (const key of text) {
      keys.take({
        case: "key",
        text: key,
        key: { name: key === "\r" ? "return" : key },
      });
    }
  };
  return { keys, told, type, pass: (ms: number): void => timers.pass(ms) };
}

function wordsOf(input: TerminalInput): string {
  if (input.case === "key") return input.text;
  return "text" in input ? `paste ${input.text}` : input.case;
}
