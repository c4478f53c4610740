import { setImmediate as nextTurn } from "node:timers/promises";
import type { AnyMessage } from "@agentclientprotocol/sdk";
import type { JsonValue } from "@bufbuild/protobuf";
import { quoteInexactNumbers } from "@devtool/internal/exact-json";
import {
  isObject,
  objectOrEmpty,
  parseJsonOrUndefined,
} from "@devtool/internal/json";
import { type JsonLine, JsonLines } from "@devtool/internal/json-lines";
import { markLongIds } from "@devtool/internal/long-ids";
import { oneLine } from "@devtool/internal/visible-text";
import { assertJsonBudget } from "@devtool/schema";
import { LineReader } from "@devtool/server/agent";
import type { AcpLimits } from "./acp-agent-options.ts";

/** The time in which messages are counted, in milliseconds. */
const WINDOW_MS = 1000;
/**
 * The number of messages after which the event loop continues with other work.
 */
const MESSAGES_PER_TURN = 50;

/** The fields with data of tools, which keeps the digits of its numbers. */
export const DATA: ReadonlySet<string> = new Set([
  "rawInput",
  "rawOutput",
  "requestedSchema",
]);

/** JSON-RPC's code for a message that is not valid. */
const INVALID_ANSWER = -32600;

/** The options of `readMessages`. */
export interface MessageReaderOptions {
  readonly limits: Pick<AcpLimits, "maxMessageBytes" | "maxMessagesPerSecond">;
  /** The clock, in milliseconds. */
  readonly nowMs: () => number;
  /**
   * Called for a line that is not a message: agents print to standard output by
   * mistake.
   */
  readonly onForeignLine: () => void;
}

/**
 * Reads the messages of JSON-RPC from the bytes of an agent, one per line or
 * several in a list. Other lines are skipped.
 *
 * Throws for a line that is too long, for a message with too much nesting or
 * too many values, and for too many messages within a second.
 */
export async function* readMessages(
  output: AsyncIterable<Uint8Array>,
  { limits, nowMs, onForeignLine }: MessageReaderOptions,
): AsyncGenerator<AnyMessage> {
  const { maxMessageBytes, maxMessagesPerSecond } = limits;
  const lines = new LineReader(maxMessageBytes);
  const values = new JsonLines((text) => parse(text, maxMessageBytes));
  let windowStartMs = Number.NEGATIVE_INFINITY;
  let count = 0;
  for await (const chunk of output) {
    for (const line of lines.push(chunk)) {
      const now = nowMs();
      if (now - windowStartMs >= WINDOW_MS) {
        windowStartMs = now;
        count = 0;
      }
      const { messages, isForeign } = messagesIn(values.read(line));
      count += Math.max(1, messages.length);
      if (count > maxMessagesPerSecond) {
        throw new Error(
          `it sent more than ${maxMessagesPerSecond} messages within a second`,
        );
      }
      if (isForeign) onForeignLine();
      for (const [at, message] of messages.entries()) {
        yield message;
        if ((at + 1) % MESSAGES_PER_TURN === 0) await nextTurn();
      }
      if (count % MESSAGES_PER_TURN === 0) await nextTurn();
    }
  }
}

function parse(text: string, maxBytes: number): JsonValue | undefined {
  assertJsonBudget(text, { maxBytes, maxDepth: 64, maxNodes: 200_000 });
  return parseJsonOrUndefined(markLongIds(quoteInexactNumbers(text, DATA)));
}

/** Returns the messages of a line, and whether it holds something else. */
function messagesIn({ values, broken, cut }: JsonLine) {
  const read = values.map((value) => [value].flat().flatMap(messageFrom));
  const ended = broken.map(brokenAnswer);
  const messages = [...read, ...ended, brokenAnswer(cut)].flat();
  const isForeign = [...read, ...ended].some((found) => found.length === 0);
  return { messages, isForeign };
}

/** Returns what ends the request that a line answers in broken JSON. */
function brokenAnswer(line: string): AnyMessage[] {
  if (line.includes('"method"')) return [];
  const error = errorFrom(`it is not JSON: ${oneLine(line, 80)}`);
  const [, id] = /"id"\s*:\s*("[^"\\]*"|-?\d+)/.exec(line) ?? [];
  return id === undefined
    ? []
    : [{ jsonrpc: "2.0", id: JSON.parse(id), error }];
}

/**
 * Reads a message of JSON-RPC 2.0: a request, a notification or an answer. None
 * for anything else.
 *
 * What answers a request ends it, however badly: an answer that is malformed
 * becomes one with an error that says so.
 */
function messageFrom(value: unknown): AnyMessage[] {
  if (!isObject(value)) return [];
  const { jsonrpc, method, id, params, result } = value;
  const error = value.error ?? undefined;
  const hasId = typeof id === "string" || typeof id === "number";
  if (method !== undefined && method !== null) {
    if (typeof method !== "string") return [];
    const call = { jsonrpc: "2.0" as const, method, params: params ?? {} };
    if (hasId || id === null) return [{ ...call, id }];
    return id === undefined ? [call] : [];
  }
  const isAnswer =
    jsonrpc !== undefined || "result" in value || error !== undefined;
  if (!hasId || !isAnswer) return [];
  if (error === undefined && "result" in value) {
    return [{ jsonrpc: "2.0", id, result }];
  }
  return [{ jsonrpc: "2.0", id, error: errorFrom(error) }];
}

/** Reads the error of an answer, which may be anything. */
function errorFrom(error: unknown): {
  code: number;
  message: string;
  data?: unknown;
} {
  const { code, message, data } = objectOrEmpty(error);
  if (typeof code === "number" && typeof message === "string") {
    return { code, message, data };
  }
  const said = error === undefined ? "neither result nor error" : error;
  return {
    code: INVALID_ANSWER,
    message: `invalid answer: ${oneLine(typeof said === "string" ? said : JSON.stringify(said))}`,
  };
}
