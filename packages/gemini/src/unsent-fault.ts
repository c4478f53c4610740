import { ModelFault } from "@devtool/coding-agent/model";
import { keepStart } from "@devtool/internal/cut-text";
import { Code } from "@devtool/server/agent";

/**
 * The maximum number of characters of a reason that are searched for secrets.
 */
const MAX_SEARCHED_CHARS = 2000;
/** The maximum number of characters of a reason that are shown. */
const MAX_SHOWN_CHARS = 200;

/**
 * A run of characters longer than any word or name, with the parts that dots
 * join to it: a key, a token or a signature.
 */
const SECRET_LIKE = /(?:[\w+=-]+\.)*[\w+=-]{32,}(?:\.[\w+=-]+)*/g;

/**
 * Returns the fault for a request that the SDK could not send, mostly because
 * it could not get credentials.
 */
export function unsentFault(cause: unknown): ModelFault {
  // A credentials file or a token endpoint may have put secrets into the
  // message, and that of a JSON parser quotes the text that it could not parse,
  // here a file with a private key.
  let reason = "";
  if (cause instanceof SyntaxError) {
    reason = "the credentials are not valid JSON";
  } else if (cause instanceof Error) {
    const [line = ""] = cause.message.split("\n", 1);
    reason = keepStart(
      keepStart(line, MAX_SEARCHED_CHARS).replaceAll(SECRET_LIKE, "…"),
      MAX_SHOWN_CHARS,
    );
  }
  const problem = `the request to the model could not be made${reason === "" ? "" : ` (${reason})`}`;
  return new ModelFault(problem, Code.FailedPrecondition, {
    remedy: "the operator must check the credentials",
    cause,
  });
}
