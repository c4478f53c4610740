import { type Message, Role, type ToolCall, toolCallsOf } from "@devtool/schema";

/** What a step of a model begins with. */
export interface StepStart {
  /** What the user said since the step before; undefined where they said nothing, or only answered questions. */
  readonly message: Message | undefined;
  /** The calls of the step before, which have ended; empty where it made none. */
  readonly results: readonly ToolCall[];
}

/** What wants an answer of a model, read off the history that it is asked with (`ModelRequest.history`). */
export function stepStart(history: readonly Message[]): StepStart {
  const last = history.findLastIndex(({ role }) => role === Role.AGENT);
  const step = history[last];
  return { message: history.slice(last + 1).findLast(saysMore), results: step ? toolCallsOf(step) : [] };
}

/** Whether a message of the user holds more than answers to questions. */
function saysMore({ parts }: Message): boolean {
  return parts.length === 0 || parts.some(({ content }) => content.case !== "confirmation");
}
