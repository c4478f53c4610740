import {
  type Message,
  Role,
  type ToolCall,
  toolCallsOf,
} from "@devtool/schema";
import { Code, DevtoolError } from "@devtool/server/agent";
import { waitsForProcess } from "../tool/builtin/background-state.ts";
import type { Model, ModelToolCall } from "./model.ts";

/** Limits at which a model that repeats itself is stopped. */
export interface LoopLimits {
  /**
   * The number of consecutive steps with the same calls and the same results of
   * which the last one does not run: its calls fail, and their errors ask the
   * model to do something else. The third time ends the turn. Default: 5.
   */
  readonly maxSameSteps: number;
  /**
   * The maximum number of consecutive steps with the same calls, whatever their
   * results.
   *
   * It is higher than `maxSameSteps`, because watching the progress of
   * something takes the same call several times. Default: 100.
   */
  readonly maxSameCalls: number;
}

/** The default limits. */
export const DEFAULT_LOOP_LIMITS: LoopLimits = {
  maxSameSteps: 5,
  maxSameCalls: 100,
};

/**
 * Adds a guard against endless repetition to a model.
 *
 * `generate` then throws `Code.Aborted` for output that repeats the same text
 * over and over. Calls that are the same as in the steps before get a `problem`
 * first; if that does not help, `generate` throws too. To wait for a background
 * process does not repeat. Returns a model with `mayRepeat` unchanged.
 */
export function withLoopGuard(model: Model, limits: LoopLimits): Model {
  if (model.mayRepeat) return model;
  const { name, names, provider, maxInputTokens, inputModes } = model;
  return {
    name,
    names,
    provider,
    maxInputTokens,
    inputModes,
    listModels: async (signal) => (await model.listModels?.(signal)) ?? [],
    async *generate(request, signal) {
      const text = new TextLoopGuard();
      const calls: ModelToolCall[] = [];
      for await (const event of model.generate(request, signal)) {
        if (event.case === "text") text.add(event.value);
        if (event.case === "thought") text.add(event.value.description);
        if (event.case === "toolCall") {
          calls.push(event.value);
          continue;
        }
        yield event;
      }
      const warning = findCallLoop(request.history, calls, limits);
      for (const call of calls) {
        const value = warning === "" ? call : { ...call, problem: warning };
        yield { case: "toolCall", value };
      }
    },
  };
}

/**
 * The number of characters that are searched for repetition. Tables and data
 * often have hundreds of equal rows.
 */
const WINDOW = 32_768;

/** The number of new characters after which the window is searched again. */
const STRIDE = 4096;

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

/** What the calls of a repeated step fail with, up to the name of the first. */
const REPEATED = "the last steps made the same calls with the same results: ";

/** The number of repeated steps that are answered with `REPEATED`. */
const MAX_WARNINGS = 2;

/**
 * Checks the calls that a new step requests, before they run. Returns why they
 * must not run; empty when they may.
 *
 * Throws `Code.Aborted` when the model was told so before, or when the calls
 * repeat those of too many steps, whatever their results.
 */
export function findCallLoop(
  history: readonly Message[],
  calls: readonly ModelToolCall[],
  { maxSameSteps, maxSameCalls }: LoopLimits,
): string {
  const sameSteps = stepsWithCalls(history, calls);
  const [newest = []] = sameSteps;
  if (newest.some(waitsForProcess)) return "";
  const outcomes = sameSteps
    .slice(0, maxSameSteps - 1)
    .map((step) =>
      JSON.stringify(step.map(({ status, result }) => [status, result.value])),
    );
  const hasSameResults =
    sameSteps.length >= maxSameSteps - 1 && new Set(outcomes).size === 1;
  const warnings = sameSteps.filter((step) => step.some(isRefused)).length;
  const name = calls[0]?.name ?? "";
  if (
    sameSteps.length >= maxSameCalls - 1 ||
    (hasSameResults && warnings >= MAX_WARNINGS)
  ) {
    throw loopError(`calls ${name} in the same way again and again`);
  }
  return hasSameResults
    ? `${REPEATED}${name} did not run; do something else, or wait with read_background_output or a command that sleeps`
    : "";
}

/**
 * Returns the calls of the consecutive last steps that made the same calls,
 * newest first. Empty when there are none, and for a step without calls.
 */
function stepsWithCalls(
  history: readonly Message[],
  calls: readonly ModelToolCall[],
): ToolCall[][] {
  if (calls.length === 0) return [];
  const requested = JSON.stringify(calls.map(({ name, args }) => [name, args]));
  const prompt = history.findLastIndex(
    ({ role, parts }) =>
      role === Role.USER &&
      parts.some(({ content }) => content.case !== "confirmation"),
  );
  // The agent's steps since then, newest first.
  const steps = history
    .slice(prompt + 1)
    .toReversed()
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
  return firstOther < 0 ? steps : steps.slice(0, firstOther);
}

/** Whether a call failed because it repeated the calls before it. */
function isRefused({ result }: ToolCall): boolean {
  return result.case === "error" && result.value.message.startsWith(REPEATED);
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
