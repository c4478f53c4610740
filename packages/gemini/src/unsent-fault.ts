import { ModelFault } from "@devtool/coding-agent/model";
import { Code } from "@devtool/server/agent";

/** The maximum number of characters of a reason that are searched for secrets. */
const MAX_SEARCHED_CHARS = 2000;
/** The maximum number of characters of a reason that are shown. */
const MAX_SHOWN_CHARS = 200;

/** A run of characters longer than any word or name, with the parts that dots join to it: a key, a token or a signature. */
const SECRET_LIKE = /(?:[\w+=-]+\.)*[\w+=-]{32,}(?:\.[\w+=-]+)*/g;

/** Returns the fault for a request that the SDK could not send, mostly because it could not get credentials. */
export function unsentFault(cause: unknown): ModelFault {
  const reason = publicReason(cause);
  const problem = `the request to the model could not be made${reason === "" ? "" : ` (${reason})`}`;
  return new ModelFault(problem, Code.FailedPrecondition, {
    remedy: "the operator must check the credentials",
    cause,
  });
}

/** Returns the reason in one line, without what a credentials file or a token endpoint may have put into it. */
function publicReason(cause: unknown): string {
  if (!(cause instanceof Error)) return "";
  // The message of a JSON parser quotes the text that it could not parse, here a file with a private key.
  if (cause instanceof SyntaxError) return "the credentials are not valid JSON";
  const [line = ""] = cause.message.split("\n", 1);
  return line.slice(0, MAX_SEARCHED_CHARS).replaceAll(SECRET_LIKE, "…").slice(0, MAX_SHOWN_CHARS);
}
