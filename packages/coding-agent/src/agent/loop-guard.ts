import { type Message, Role, type ToolCall, toolCallsOf } from "@devtool/schema";
import { Code, DevtoolError } from "@devtool/server/agent";
import type { Model, ModelEvent, ModelRequest, ModelToolCall } from "./model.ts";

/** When a model that repeats itself is stopped. */
export interface LoopLimits {
  /** The number of steps in a row that make the same calls with the same results. Default 5. */
  readonly maxSameSteps: number;
  /** The number of steps in a row that make the same calls, whatever their results: looking how something goes on takes a few. Default 25. */
  readonly maxSameCalls: number;
}

/** The limits with their defaults filled in. */
export function loopLimitsOf(limits: Partial<LoopLimits> = {}): LoopLimits {
  return { maxSameSteps: 5, maxSameCalls: 25, ...limits };
}

/**
 * A model that is stopped when it goes round in circles: `generate` throws `Code.Aborted` for an answer that says the same
 * over and over, and for a step whose calls the steps before it made with the same results. None of its calls has run then.
 * A model that says `mayRepeat` is left as it is.
 */
export function withLoopGuard(model: Model, limits: LoopLimits): Model {
  if (model.mayRepeat) return model;
  const { name, maxInputTokens, inputModes } = model;
  return {
    name,
    ...(maxInputTokens !== undefined && { maxInputTokens }),
    ...(inputModes && { inputModes }),
    generate: (request, signal) => guarded(model.generate(request, signal), request, limits),
  };
}

async function* guarded(
  events: AsyncIterable<ModelEvent>,
  { history }: ModelRequest,
  limits: LoopLimits,
): AsyncIterable<ModelEvent> {
  const words = new TextLoopGuard();
  const calls: ModelToolCall[] = [];
  for await (const event of events) {
    if (event.case === "text") words.add(event.value);
    if (event.case === "thought") words.add(event.value.description);
    if (event.case === "toolCall") calls.push(event.value);
    yield event;
  }
  assertNoCallLoop(history, calls, limits);
}

/** The number of characters that are looked at for repetition, and of new ones after which they are looked at again. */
const WINDOW = 4096;
const STRIDE = 1024;

/** The maximum length, in characters, of a text that fills the window by repetition. */
const MAX_PERIOD = 400;

/** Watches the words of one answer for a model that says the same without end. */
export class TextLoopGuard {
  #tail = "";
  #fresh = 0;

  /** Takes the next words. Throws `Code.Aborted` when they go round in circles. */
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
 * Looks at the calls of a new step before they run. Throws `Code.Aborted` when the steps before it made the same calls
 * and got the same answers, often enough.
 */
export function assertNoCallLoop(
  history: readonly Message[],
  calls: readonly ModelToolCall[],
  { maxSameSteps, maxSameCalls }: LoopLimits,
): void {
  if (calls.length === 0) return;
  const made = JSON.stringify(calls.map(({ name, args }) => [name, args]));
  const same = trailingSteps(history).map(toolCallsOf);
  const different = same.findIndex((step) => signatureOf(step) !== made);
  const run = different < 0 ? same : same.slice(0, different);
  const outcomes = new Set(run.slice(0, maxSameSteps - 1).map(outcomeOf));
  const stuck = run.length >= maxSameSteps - 1 && outcomes.size === 1;
  if (stuck || run.length >= maxSameCalls - 1) throw looping(`calls ${calls[0]?.name} in the same way again and again`);
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

function looping(problem: string): DevtoolError {
  return new DevtoolError(`the model ${problem}`, Code.Aborted, { remedy: "tell it what to do differently" });
}
