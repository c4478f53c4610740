import { ModelFault } from "@devtool/coding-agent/model";
import { keepStart } from "@devtool/internal/cut-text";
import { Code } from "@devtool/server/agent";

/** The fault that a finish reason stands for. */
interface Stop {
  readonly problem: string;
  readonly remedy: string;
  readonly code: Code;
  /** Set when the same request may succeed if it is sent again. */
  readonly retriable?: true;
}

const REFUSED = "rephrase the request";

/** The known finish reasons besides `STOP`. */
const STOPS: ReadonlyMap<string, Stop> = new Map<string, Stop>([
  [
    "MAX_TOKENS",
    {
      problem: "the answer reached the model's output limit",
      remedy: "ask it to go on",
      code: Code.ResourceExhausted,
    },
  ],
  [
    "SAFETY",
    {
      problem: "the model's safety filter stopped the answer",
      remedy: REFUSED,
      code: Code.FailedPrecondition,
    },
  ],
  [
    "RECITATION",
    {
      problem: "the answer repeated a protected text",
      remedy: REFUSED,
      code: Code.FailedPrecondition,
    },
  ],
  [
    "LANGUAGE",
    {
      problem: "the model does not speak this language",
      remedy: "use another language",
      code: Code.FailedPrecondition,
    },
  ],
  [
    "BLOCKLIST",
    {
      problem: "the answer held a forbidden word",
      remedy: REFUSED,
      code: Code.FailedPrecondition,
    },
  ],
  [
    "PROHIBITED_CONTENT",
    {
      problem: "the answer held forbidden content",
      remedy: REFUSED,
      code: Code.FailedPrecondition,
    },
  ],
  [
    "SPII",
    {
      problem: "the answer held personal data",
      remedy: REFUSED,
      code: Code.FailedPrecondition,
    },
  ],
  [
    "MALFORMED_FUNCTION_CALL",
    {
      problem: "the model made a tool call that cannot be read",
      remedy: "send the message again",
      code: Code.Unavailable,
      retriable: true,
    },
  ],
  [
    "MALFORMED_RESPONSE",
    {
      problem: "the model gave an answer that cannot be read",
      remedy: "send the message again",
      code: Code.Unavailable,
      retriable: true,
    },
  ],
  [
    "UNEXPECTED_TOOL_CALL",
    {
      problem: "the model called a tool where none was offered",
      remedy: "send the message again",
      code: Code.Unavailable,
      retriable: true,
    },
  ],
  [
    "TOO_MANY_TOOL_CALLS",
    {
      problem: "the model made too many tool calls at once",
      remedy: "ask for less",
      code: Code.ResourceExhausted,
    },
  ],
]);

/**
 * Returns the fault for a finish reason; undefined for `STOP`. `message` is
 * what the API says about it.
 */
export function stopFault(
  reason: string,
  message = "",
): ModelFault | undefined {
  if (reason === "STOP") return undefined;
  const stop = STOPS.get(reason) ?? {
    problem: `the model stopped for the reason ${JSON.stringify(keepStart(reason, 40))}`,
    remedy: "send the message again",
    code: Code.Unavailable,
  };
  const { problem, remedy, code, retriable } = stop;
  return new ModelFault(withMessage(problem, message), code, {
    remedy,
    retriable,
  });
}

/** Returns the fault for a prompt that was blocked before the model saw it. */
export function blockFault(reason: string, message = ""): ModelFault {
  const problem = `the prompt was blocked (${keepStart(reason, 40)})`;
  return new ModelFault(
    withMessage(problem, message),
    Code.FailedPrecondition,
    { remedy: REFUSED },
  );
}

/** Appends the first line of a message, cut to 200 characters. */
function withMessage(problem: string, message: string): string {
  const line = keepStart(message.split("\n", 1)[0] ?? "", 200);
  return line === "" ? problem : `${problem} (${line})`;
}
