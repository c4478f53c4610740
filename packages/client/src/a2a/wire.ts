import type { JsonValue } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { keepStart, WireError } from "@devtool/schema";
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
      "the connection was lost",
      Code.Unavailable,
      undefined,
      undefined,
      reason,
    );
  }
}

/**
 * Parses the text of an answer. Throws `Code.DataLoss` for invalid JSON, which
 * a retry cannot fix.
 */
export function parseAnswer(text: string): JsonValue {
  try {
    return JSON.parse(text);
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
    const message = `the agent's answer cannot be read: ${reason.message}`;
    throw new ConnectError(
      message,
      Code.DataLoss,
      undefined,
      undefined,
      reason,
    );
  }
}
