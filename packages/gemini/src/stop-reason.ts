import {
  type ModelFault,
  type Stop,
  stopFault,
} from "@devtool/coding-agent/model";
import { keepStart } from "@devtool/internal/cut-text";
import { Code } from "@devtool/server/agent";

/** The known finish reasons besides `STOP`. */
const STOPS: ReadonlyMap<string, Parameters<typeof stopFault>[0]> = new Map(
  Object.entries<Parameters<typeof stopFault>[0]>({
    MAX_TOKENS: "output-limit",
    SAFETY: "safety",
    RECITATION: refusal("the answer repeated a protected text"),
    LANGUAGE: [
      "the model does not speak this language",
      "use another language",
      Code.FailedPrecondition,
    ],
    BLOCKLIST: refusal("the answer held a forbidden word"),
    PROHIBITED_CONTENT: refusal("the answer held forbidden content"),
    SPII: refusal("the answer held personal data"),
    MALFORMED_FUNCTION_CALL: mistake(
      "the model made a tool call that cannot be read",
    ),
    MALFORMED_RESPONSE: mistake("the model gave an answer that cannot be read"),
    UNEXPECTED_TOOL_CALL: mistake(
      "the model called a tool where none was offered",
    ),
    TOO_MANY_TOOL_CALLS: [
      "the model made too many tool calls at once",
      "ask for less",
      Code.ResourceExhausted,
    ],
  }),
);

function refusal(problem: string): Stop {
  return [problem, "rephrase the request", Code.FailedPrecondition];
}

/** An answer that may be better when the same request is sent again. */
function mistake(problem: string): Stop {
  return [problem, "send the message again", Code.Unavailable, "retriable"];
}

/**
 * Returns the fault for a finish reason; undefined for `STOP`. `message` is
 * what the API says about it.
 */
export function finishFault(
  reason: string,
  message = "",
): ModelFault | undefined {
  if (reason === "STOP") return undefined;
  const stop = STOPS.get(reason);
  return stop ? stopFault(stop, message) : stopFault({ reason }, message);
}

/** Returns the fault for a prompt that was blocked before the model saw it. */
export function blockFault(reason: string, message = ""): ModelFault {
  const problem = `the prompt was blocked (${keepStart(reason, 40)})`;
  return stopFault(refusal(problem), message);
}
