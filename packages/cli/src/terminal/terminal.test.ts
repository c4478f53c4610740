import { PassThrough } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { FakeTerminal } from "../../test/fake-terminal.ts";
import { createQuestioner } from "../prompter.ts";
import { Terminal } from "./terminal.ts";

describe("U7: Esc at a terminal", () => {
  // Timers fire in the order in which they are due, however slow the machine.
  it.each([
    ["alone", ["\u001b"], ["escape"]],
    ["twice", ["\u001b\u001b"], ["escape"]],
    ["as a sequence that comes in pieces", ["\u001b", "[A"], ["up"]],
    ["before a letter, as Alt does", ["\u001bb"], ["alt b"]],
  ] as const)("is read at once: %s", async (_how, pieces, keys) => {
    const stdin = new PassThrough();
    const terminal = new Terminal({
      stdin,
      stdout: new PassThrough(),
      stderr: new PassThrough(),
      env: {},
      interactive: true,
      onInterrupt: () => () => undefined,
      interrupt: () => undefined,
    });
    const heard: string[] = [];
    terminal.listen((input) => {
      if (input.case !== "key") return;
      const { name = "", meta } = input.key;
      heard.push(meta === true && name !== "escape" ? `alt ${name}` : name);
    });
    using _held = terminal.hold();
    for (const piece of pieces) stdin.emit("data", Buffer.from(piece));
    await delay(100);
    expect(heard).toEqual(keys);
  });
});

it("is asked once, and gets no escape sequences, if it knows none (TERM=dumb)", async () => {
  const terminal = new FakeTerminal({ TERM: "dumb" });
  terminal.press("n");
  const answer = createQuestioner(terminal.io).ask(
    { prompt: "choose > ", takesWords: false },
    new AbortController().signal,
  );
  await Promise.all([answer, terminal.play(["choose > ", "y\r"])]);
  expect(await answer).toMatchObject({ text: "y" });
  expect(terminal.said.split("choose > ")).toHaveLength(2);
  expect(terminal.said).toContain("· not taken as an answer");
  expect(terminal.said).not.toContain("\u001b");
});
