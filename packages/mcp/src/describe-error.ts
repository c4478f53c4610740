import { keepStart } from "@devtool/internal/cut-text";
import { errorWords } from "@devtool/internal/error-words";
import {
  listOrEmpty,
  objectOrEmpty,
  parseJsonOrUndefined,
  stringOrEmpty,
} from "@devtool/internal/json";

/** The maximum length of what is shown of an error, in characters. */
const MAX_LENGTH = 300;

/**
 * Describes a caught value, with the message of its cause where that adds
 * something: `fetch failed (connect ECONNREFUSED …)`.
 *
 * An error of the protocol keeps the server's words, and up to 300 characters of
 * its data. Any other is one line of
 * at most 300 characters, and no page and no report of a validator.
 */
export function describeError(reason: unknown): string {
  if (!(reason instanceof Error)) return shortMessage(String(reason));
  const { message, cause } = reason;
  // Errors of the protocol have a number, those of the SDK a name.
  if ("code" in reason && typeof reason.code === "number") {
    const data = "data" in reason ? reason.data : undefined;
    return errorWords(withoutReport(message), withoutReports(data));
  }
  if ("status" in reason && typeof reason.status === "number") {
    const text = "text" in reason ? stringOrEmpty(reason.text) : "";
    return `the server answered with HTTP ${reason.status}${httpWords(text)}`;
  }
  return cause instanceof Error && !message.includes(cause.message)
    ? `${shortMessage(message)} (${describeError(cause)})`
    : shortMessage(message);
}

/** Returns what the body of an HTTP error says, if it is not a page. */
function httpWords(text: string): string {
  const { error, message } = objectOrEmpty(parseJsonOrUndefined(text));
  const words =
    stringOrEmpty(objectOrEmpty(error).message) || stringOrEmpty(message);
  if (words !== "") return `: ${shortMessage(words)}`;
  return /^\s*([<{[]|$)/.test(text) ? "" : `: ${shortMessage(text)}`;
}

/** Returns the first line of a message, at most 300 characters of it. */
export function shortMessage(message: string): string {
  const [line = ""] = withoutReport(message).trim().split("\n", 1);
  return keepStart(line, MAX_LENGTH);
}

/** Returns the data of an error, as text if it is a validator's report. */
function withoutReports(data: unknown): unknown {
  return Array.isArray(data) ? withoutReport(JSON.stringify(data)) : data;
}

/** Returns a message with a validator's report at its end in plain words. */
function withoutReport(message: string): string {
  const at = message.search(/\[\s*\{/);
  const report = at < 0 ? undefined : parseJsonOrUndefined(message.slice(at));
  const issues = listOrEmpty(report).map(objectOrEmpty);
  if (issues.length === 0 || !issues.every(({ path }) => Array.isArray(path))) {
    return message;
  }
  const words = issues.map(
    ({ path, message: problem }) =>
      `${listOrEmpty(path).join(".")}: ${stringOrEmpty(problem)}`,
  );
  return message.slice(0, at) + words.join("; ");
}
