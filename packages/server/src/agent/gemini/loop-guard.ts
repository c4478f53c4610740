import { type Message, Role, type ToolCall, toolCallsOf } from "@devtool/schema";
import { Code } from "../../errors.ts";
import type { ModelToolCall } from "../model.ts";
import { GeminiFault } from "./gemini-fault.ts";

/** So many steps in a row may make the same calls, when they also bring the same. */
const MAX_SAME_STEPS = 5;

/** So many steps in a row may make the same calls, whatever they bring: to look how something goes on is no loop. */
const MAX_SAME_CALLS = 25;

/** So many characters are looked at for repetition, each time so many are new. */
const WINDOW = 4096;
const STRIDE = 1024;

/** The window is a loop when it is one text of at most so many characters, over and over. */
const MAX_PERIOD = 400;

/** Watches the words of one answer for a model that says the same without end. */
export class TextLoopGuard {
  #tail = "";
  #fresh = 0;

  /** Takes the next words. Throws a `GeminiFault` when they go round in circles. */
  add(text: string): void {
    this.#tail += text;
    this.#fresh += text.length;
    if (this.#fresh < STRIDE) return;
    this.#fresh = 0;
    this.#tail = this.#tail.slice(-WINDOW);
    if (this.#tail.length === WINDOW && periodOf(this.#tail) <= MAX_PERIOD)
      throw looping("says the same again and again");
  }
}

/**
 * Looks at the calls of a new step before they run. Throws a `GeminiFault` when the steps before it made the same calls
 * and got the same answers, often enough.
 */
export function assertNoCallLoop(history: readonly Message[], calls: readonly ModelToolCall[]): void {
  if (calls.length === 0) return;
  const made = JSON.stringify(calls.map(({ name, args }) => [name, args]));
  const same = trailingSteps(history).map(toolCallsOf);
  const different = same.findIndex((step) => signatureOf(step) !== made);
  const run = different < 0 ? same : same.slice(0, different);
  const outcomes = new Set(run.slice(0, MAX_SAME_STEPS - 1).map(outcomeOf));
  const stuck = run.length >= MAX_SAME_STEPS - 1 && outcomes.size === 1;
  if (stuck || run.length >= MAX_SAME_CALLS - 1)
    throw looping(`calls ${calls[0]?.name} in the same way again and again`);
}

/** The agent's steps since the last prompt, the newest first. */
function trailingSteps(history: readonly Message[]): Message[] {
  const isPrompt = ({ role, parts }: Message): boolean =>
    role === Role.USER && parts.some(({ content }) => content.case !== "confirmation");
  const since = history.slice(history.findLastIndex(isPrompt) + 1);
  return since.filter(({ role }) => role === Role.AGENT).toReversed();
}

function signatureOf(calls: readonly ToolCall[]): string {
  return JSON.stringify(calls.map(({ toolName, inputParameters }) => [toolName, inputParameters ?? {}]));
}

function outcomeOf(calls: readonly ToolCall[]): string {
  return JSON.stringify(calls.map(({ status, result }) => [status, result.value]));
}

/** The length of the shortest text whose repetition the text is, by the longest border (Knuth, Morris, Pratt). */
function periodOf(text: string): number {
  const borders = new Uint16Array(text.length);
  for (let index = 1; index < text.length; index++) {
    let length = borders[index - 1] ?? 0;
    while (length > 0 && text[index] !== text[length]) length = borders[length - 1] ?? 0;
    borders[index] = text[index] === text[length] ? length + 1 : length;
  }
  return text.length - (borders[text.length - 1] ?? 0);
}

function looping(problem: string): GeminiFault {
  return new GeminiFault(`the model ${problem}: tell it what to do differently`, Code.Aborted);
}
