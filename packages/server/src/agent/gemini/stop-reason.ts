import { Code } from "../../errors.ts";
import { GeminiFault } from "./gemini-fault.ts";

interface Stop {
  readonly problem: string;
  readonly code: Code;
  /** The model may do better when it is asked again. */
  readonly retriable?: true;
}

const REFUSED = "say it in another way";

const STOPS: ReadonlyMap<string, Stop> = new Map<string, Stop>([
  [
    "MAX_TOKENS",
    { problem: "the answer reached the model's output limit: ask it to go on", code: Code.ResourceExhausted },
  ],
  ["SAFETY", { problem: `the model's safety filter stopped the answer: ${REFUSED}`, code: Code.FailedPrecondition }],
  ["RECITATION", { problem: `the answer repeated a protected text: ${REFUSED}`, code: Code.FailedPrecondition }],
  ["LANGUAGE", { problem: "the model does not speak this language: use another", code: Code.FailedPrecondition }],
  ["BLOCKLIST", { problem: `the answer held a forbidden word: ${REFUSED}`, code: Code.FailedPrecondition }],
  ["PROHIBITED_CONTENT", { problem: `the answer held forbidden content: ${REFUSED}`, code: Code.FailedPrecondition }],
  ["SPII", { problem: `the answer held personal data: ${REFUSED}`, code: Code.FailedPrecondition }],
  [
    "MALFORMED_FUNCTION_CALL",
    {
      problem: "the model made a tool call that cannot be read: send the message again",
      code: Code.Unavailable,
      retriable: true,
    },
  ],
  [
    "MALFORMED_RESPONSE",
    {
      problem: "the model gave an answer that cannot be read: send the message again",
      code: Code.Unavailable,
      retriable: true,
    },
  ],
  [
    "UNEXPECTED_TOOL_CALL",
    {
      problem: "the model called a tool where none was offered: send the message again",
      code: Code.Unavailable,
      retriable: true,
    },
  ],
  [
    "TOO_MANY_TOOL_CALLS",
    { problem: "the model made too many tool calls at once: ask for less", code: Code.ResourceExhausted },
  ],
]);

/** The fault that a finish reason stands for; undefined for the good one. */
export function stopFault(reason: string, words: string): GeminiFault | undefined {
  if (reason === "STOP") return undefined;
  const stop = STOPS.get(reason) ?? {
    problem: `the model stopped for the reason ${JSON.stringify(reason.slice(0, 40))}: send the message again`,
    code: Code.Unavailable,
  };
  return new GeminiFault(withWords(stop.problem, words), stop.code, stop.retriable ? { retriable: true } : {});
}

/** The fault of a prompt that was blocked before the model saw it. */
export function blockFault(reason: string, words: string): GeminiFault {
  const problem = `the prompt was blocked (${reason.slice(0, 40)}): ${REFUSED}`;
  return new GeminiFault(withWords(problem, words), Code.FailedPrecondition);
}

function withWords(problem: string, words: string): string {
  const line = words.split("\n", 1)[0]?.slice(0, 200) ?? "";
  return line === "" ? problem : `${problem} (${line})`;
}
