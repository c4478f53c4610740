import type { JsonValue } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { keepStart } from "@devtool/internal/cut-text";
import { quoteInexactNumbers } from "@devtool/internal/exact-json";
import { isObject } from "@devtool/internal/json";
import { WireError } from "@devtool/schema";
import { ParseError } from "eventsource-parser/stream";

/**
 * Waits for the network and turns its failures into `ConnectError`s:
 *
 * - `Code.DeadlineExceeded` if the signal timed out,
 * - `Code.Canceled` if the caller aborted,
 * - `Code.DataLoss` for a frame or an answer over the size limit,
 * - `Code.Unavailable` for anything else: the connection was lost.
 */
export async function waitFor<T>(
  pending: Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  try {
    return await pending;
  } catch (reason) {
    if (signal.aborted) {
      const cause: unknown = signal.reason;
      // For a timeout set on the call, Connect aborts with an error of its own.
      if (cause instanceof ConnectError) throw cause;
      const isTimeout = cause instanceof Error && cause.name === "TimeoutError";
      const code = isTimeout ? Code.DeadlineExceeded : Code.Canceled;
      const message = isTimeout
        ? "the agent did not answer in time"
        : "canceled";
      throw new ConnectError(message, code, undefined, undefined, cause);
    }
    if (reason instanceof ConnectError) throw reason;
    if (reason instanceof ParseError) {
      throw new ConnectError(reason.message, Code.DataLoss);
    }
    throw new ConnectError(
      `the connection was lost${refusedOrigin(reason)}`,
      Code.Unavailable,
      undefined,
      undefined,
      reason,
    );
  }
}

/**
 * Returns the other cause that an error may have in a web page: a browser does
 * not tell whether its origin was refused. Empty elsewhere.
 */
function refusedOrigin(reason: unknown): string {
  const origin: unknown = Reflect.get(globalThis, "origin");
  return typeof origin === "string" && reason instanceof TypeError
    ? `, or the server refuses the origin "${origin}": its operator lists it, as with devtool serve --allow-origin`
    : "";
}

/**
 * Parses the text of an answer. Throws `Code.DataLoss` for invalid JSON, which
 * a retry cannot fix.
 *
 * A number that a double cannot represent becomes a string of its digits
 * (JSON-3). Half a surrogate pair, which no message can hold, becomes the
 * replacement character.
 */
export function parseAnswer(text: string): JsonValue {
  try {
    const json: JsonValue = JSON.parse(quoteInexactNumbers(text));
    return SURROGATE.test(text) ? wellFormed(json) : json;
  } catch (reason) {
    const message = `the agent's answer is not valid JSON: got ${JSON.stringify(keepStart(text, 80))}`;
    throw new ConnectError(
      message,
      Code.DataLoss,
      undefined,
      undefined,
      reason,
    );
  }
}

/** The escape of half a surrogate pair. */
const SURROGATE = /\\u[dD][89a-fA-F]/;

/**
 * Returns JSON with the replacement character for each half of a surrogate
 * pair.
 */
export function wellFormed(json: JsonValue): JsonValue {
  if (typeof json === "string") return json.toWellFormed();
  if (Array.isArray(json)) return json.map(wellFormed);
  if (!isObject(json)) return json;
  const entries = Object.entries(json).map(
    ([key, value]): [string, JsonValue] => [
      key.toWellFormed(),
      wellFormed(value),
    ],
  );
  return Object.fromEntries(entries);
}

/**
 * Runs an encoder of a request. Throws `Code.InvalidArgument` if the request
 * has no valid encoding.
 */
export function encodeCall<T>(encode: () => T): T {
  try {
    return encode();
  } catch (reason) {
    if (!(reason instanceof WireError)) throw reason;
    throw new ConnectError(
      reason.message,
      Code.InvalidArgument,
      undefined,
      undefined,
      reason,
    );
  }
}

/**
 * Runs a decoder of an answer. Throws `Code.DataLoss` if the answer violates
 * the protocol, which a retry cannot fix.
 */
export function decodeAnswer<T>(decode: () => T): T {
  try {
    return decode();
  } catch (reason) {
    if (!(reason instanceof WireError)) throw reason;
    throw unreadableAnswer([reason.message], reason);
  }
}

/**
 * Returns the error for an answer of which nothing can be used, with the
 * reasons.
 */
export function unreadableAnswer(
  [reason = "it is empty"]: readonly string[],
  cause?: unknown,
): ConnectError {
  const message = `the agent's answer cannot be read: ${reason}`;
  return new ConnectError(message, Code.DataLoss, undefined, undefined, cause);
}

/**
 * Returns the error for a method that streams, and was answered with nothing.
 */
export function noStream(method: string): ConnectError {
  return new ConnectError(
    `${method}: the agent did not answer with a stream`,
    Code.DataLoss,
  );
}
