import type { JsonValue } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { WireError } from "@devtool/schema";
import { ParseError } from "eventsource-parser/stream";

import { objectOf, textOf } from "./json.ts";

/**
 * Waits for the network. Throws `Code.DeadlineExceeded` when the caller's time is up, `Code.Canceled` when the caller gave
 * up, `Code.DataLoss` for a frame past the limit, `Code.Unavailable` for anything else: a connection that was lost.
 */
export async function waitFor<T>(waiting: Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await waiting;
  } catch (reason) {
    if (signal.aborted) throw abortError(signal.reason);
    if (reason instanceof ParseError) throw new ConnectError(reason.message, Code.DataLoss);
    throw new ConnectError("the connection was lost", Code.Unavailable, undefined, undefined, reason);
  }
}

/** The time may be up by `AbortSignal.timeout`, or by a timeout of the call, which Connect says in its own words. */
function abortError(reason: unknown): ConnectError {
  if (reason instanceof ConnectError) return reason;
  const isTimeout = reason instanceof Error && reason.name === "TimeoutError";
  const code = isTimeout ? Code.DeadlineExceeded : Code.Canceled;
  const message = isTimeout ? "the agent did not answer in time" : "canceled";
  return new ConnectError(message, code, undefined, undefined, reason);
}

/** Parses what an agent sent. Throws `Code.DataLoss` when it is no JSON: asking again gives the same. */
export function parseAnswer(text: string): JsonValue {
  try {
    return JSON.parse(text);
  } catch (reason) {
    const shown = JSON.stringify(text.slice(0, 80));
    throw new ConnectError(`the agent sent ${shown}, which is no JSON`, Code.DataLoss, undefined, undefined, reason);
  }
}

/** Encodes what an agent is asked. What cannot be asked is `Code.InvalidArgument`, with what is wrong with it. */
export function encodeCall<T>(encode: () => T): T {
  try {
    return encode();
  } catch (reason) {
    if (!(reason instanceof WireError)) throw reason;
    throw new ConnectError(reason.message, Code.InvalidArgument, undefined, undefined, reason);
  }
}

/** Decodes what an agent sent. What it must not send is `Code.DataLoss`: asking again gives the same. */
export function decodeAnswer<T>(decode: () => T): T {
  try {
    return decode();
  } catch (reason) {
    if (!(reason instanceof WireError)) throw reason;
    const message = `the agent's answer cannot be read: ${reason.message}`;
    throw new ConnectError(message, Code.DataLoss, undefined, undefined, reason);
  }
}

/** The error for an HTTP status that stands alone. What a proxy says of an agent that is down can be asked again. */
export function refusalOf(status: number, text: string): ConnectError {
  const said = wordsOf(text);
  if (status === 401) {
    const told = text.trimStart().startsWith("{") ? said : "";
    return new ConnectError(told || "the bearer token is missing or wrong", Code.Unauthenticated);
  }
  const message = `the agent answered with HTTP ${status}${said === "" ? "" : `: ${said}`}`;
  return new ConnectError(message, codeOf(status));
}

/** What the body of a refusal says for a person: the words of the errors that JSON holds, else the body as it is. */
export function wordsOf(text: string): string {
  try {
    const json = objectOf(JSON.parse(text));
    const words = textOf(json.error) || textOf(json.message) || textOf(objectOf(json.error).message);
    return (words || text.trim()).slice(0, MAX_WORDS);
  } catch {
    return text.trim().slice(0, MAX_WORDS);
  }
}

/** In characters. */
const MAX_WORDS = 400;

function codeOf(status: number): Code {
  const known = STATUSES.get(status);
  if (known !== undefined) return known;
  return status >= 500 ? Code.Unavailable : Code.InvalidArgument;
}

const STATUSES: ReadonlyMap<number, Code> = new Map([
  [403, Code.PermissionDenied],
  [404, Code.Unimplemented],
  [405, Code.Unimplemented],
  [408, Code.Unavailable],
  [429, Code.Unavailable],
  [501, Code.Unimplemented],
]);
