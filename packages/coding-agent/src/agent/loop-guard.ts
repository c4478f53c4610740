import { type Message, Role, toolCallsOf } from "@devtool/schema";
import { Code, DevtoolError } from "@devtool/server/agent";
import type { Model, ModelToolCall } from "./model.ts";

/** Limits at which a model that repeats itself is stopped. */
export interface LoopLimits {
  /**
   * The maximum number of consecutive steps with the same calls and the same
   * results. Default: 5.
   */
  readonly maxSameSteps: number;
  /**
   * The maximum number of consecutive steps with the same calls, whatever their
   * results.
   *
   * It is higher than `maxSameSteps`, because watching the progress of
   * something takes the same call several times. Default: 25.
   */
  readonly maxSameCalls: number;
}

/** The default limits. */
export const DEFAULT_LOOP_LIMITS: LoopLimits = {
  maxSameSteps: 5,
  maxSameCalls: 25,
};

/**
 * Adds a guard against endless repetition to a model.
 *
 * `generate` then throws `Code.Aborted` for output that repeats the same text
 * over and over, and for a step that requests the same calls as the steps
 * before it. The calls of such a step do not run. Returns a model with
 * `mayRepeat` unchanged.
 */
export function withLoopGuard(model: Model, limits: LoopLimits): Model {
  if (model.mayRepeat) return model;
  const { name, names, maxInputTokens, inputModes } = model;
  return {
    name,
    names,
    maxInputTokens,
    inputModes,
    listModels: async (signal) => (await model.listModels?.(signal)) ?? [],
    async *generate(request, signal) {
      const text = new TextLoopGuard();
      const calls: ModelToolCall[] = [];
      for await (const event of model.generate(request, signal)) {
        if (event.case === "text") text.add(event.value);
        if (event.case === "thought") text.add(event.value.description);
        if (event.case === "toolCall") calls.push(event.value);
        yield event;
      }
      assertNoCallLoop(request.history, calls, limits);
    },
  };
}

/** The number of characters that are searched for repetition. */
const WINDOW = 4096;

/** The number of new characters after which the window is searched again. */
const STRIDE = 1024;

/**
 * The maximum length, in characters, of a text whose repetition fills the
 * window.
 */
const MAX_PERIOD = 400;

/** Detects output that repeats the same text over and over. */
export class TextLoopGuard {
  #tail = "";
  /** The number of characters since the last search. */
  #added = 0;

  /**
   * Adds the next piece of output. Throws `Code.Aborted` when the output
   * repeats itself.
   */
  add(text: string): void {
    this.#tail += text;
    this.#added += text.length;
    if (this.#added < STRIDE) return;
    this.#added = 0;
    this.#tail = this.#tail.slice(-WINDOW);
    if (
      this.#tail.length === WINDOW &&
      shortestPeriod(this.#tail) <= MAX_PERIOD
    ) {
      throw loopError("says the same again and again");
    }
  }
}

/**
 * Checks the calls that a new step requests, before they run.
 *
 * Throws `Code.Aborted` when they would repeat the calls of the previous steps
 * beyond a limit.
 */
export function assertNoCallLoop(
  history: readonly Message[],
  calls: readonly ModelToolCall[],
  { maxSameSteps, maxSameCalls }: LoopLimits,
): void {
  if (calls.length === 0) return;
  const requested = JSON.stringify(calls.map(({ name, args }) => [name, args]));
  const prompt = history.findLastIndex(
    ({ role, parts }) =>
      role === Role.USER &&
      parts.some(({ content }) => content.case !== "confirmation"),
  );
  // The agent's steps since then, newest first.
  const newest = history.slice(prompt + 1).toReversed();
  const steps = newest
    .filter(({ role }) => role === Role.AGENT)
    .map(toolCallsOf);
  const firstOther = steps.findIndex(
    (step) =>
      JSON.stringify(
        step.map(({ toolName, inputParameters }) => [
          toolName,
          inputParameters ?? {},
        ]),
      ) !== requested,
  );
  const sameSteps = firstOther < 0 ? steps : steps.slice(0, firstOther);
  const outcomes = sameSteps
    .slice(0, maxSameSteps - 1)
    .map((step) =>
      JSON.stringify(step.map(({ status, result }) => [status, result.value])),
    );
  const hasSameResults =
    sameSteps.length >= maxSameSteps - 1 && new Set(outcomes).size === 1;
  if (hasSameResults || sameSteps.length >= maxSameCalls - 1) {
    throw loopError(`calls ${calls[0]?.name} in the same way again and again`);
  }
}

/**
 * Returns the length of the shortest text whose repetition gives the text.
 *
 * Computes it from the longest border of the text (Knuth, Morris, Pratt).
 */
function shortestPeriod(text: string): number {
  const borders = new Uint16Array(text.length);
  for (let index = 1; index < text.length; index++) {
    let length = borders[index - 1] ?? 0;
    while (length > 0 && text[index] !== text[length]) {
      length = borders[length - 1] ?? 0;
    }
    borders[index] = text[index] === text[length] ? length + 1 : length;
  }
  return text.length - (borders[text.length - 1] ?? 0);
}

function loopError(problem: string): DevtoolError {
  return new DevtoolError(`the model ${problem}`, Code.Aborted, {
    remedy: "tell it what to do differently",
  });
}
