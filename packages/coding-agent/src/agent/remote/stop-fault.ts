import { keepStart } from "@devtool/internal/cut-text";
import { Code } from "@devtool/server/agent";
import { ModelFault } from "./model-fault.ts";

/** The ways in which a model ends an answer that all APIs have. */
export type StopKind = "output-limit" | "context-limit" | "safety" | "refusal";

/** An end of an answer, for the reader. */
export type Stop = readonly [
  problem: string,
  remedy: string,
  code: Code,
  retriable?: "retriable",
];

/**
 * Returns the fault for an answer that a model ended early. `message` is what
 * the API says about it, of which the user sees 200 characters of the first
 * line.
 *
 * The code of a kind is `Code.ResourceExhausted` for a limit, otherwise
 * `Code.FailedPrecondition`. A reason is one that this version does not know.
 */
export function stopFault(
  stop: StopKind | Stop | { readonly reason: string },
  message = "",
): ModelFault {
  const [problem, remedy, code, retriable] = stopOf(stop);
  const line = keepStart(message.split("\n", 1)[0] ?? "", 200);
  return new ModelFault(line === "" ? problem : `${problem} (${line})`, code, {
    remedy,
    retriable: retriable !== undefined,
    finishReason: typeof stop === "string" ? FINISH_REASONS[stop] : undefined,
  });
}

function stopOf(stop: StopKind | Stop | { readonly reason: string }): Stop {
  if (typeof stop === "string") return STOPS[stop];
  if (!("reason" in stop)) return stop;
  const reason = JSON.stringify(keepStart(stop.reason, 40));
  return [
    `the model stopped for the reason ${reason}`,
    "send the message again",
    Code.Unavailable,
  ];
}

const FINISH_REASONS: Readonly<Record<StopKind, string>> = {
  "output-limit": "length",
  "context-limit": "length",
  safety: "content_filter",
  refusal: "content_filter",
};

const STOPS: Readonly<Record<StopKind, Stop>> = {
  "output-limit": [
    "the answer reached the model's output limit",
    "ask it to go on",
    Code.ResourceExhausted,
  ],
  "context-limit": [
    "the conversation reached the model's input limit",
    "run /compress, or start a new task",
    Code.ResourceExhausted,
  ],
  safety: [
    "the model's safety filter stopped the answer",
    "rephrase the request",
    Code.FailedPrecondition,
  ],
  refusal: [
    "the model refused to answer",
    "rephrase the request",
    Code.FailedPrecondition,
  ],
};
