import { setImmediate as nextTurn } from "node:timers/promises";
import type { AnyMessage } from "@agentclientprotocol/sdk";
import {
  assertJsonBudget,
  oneLine,
  quoteInexactNumbers,
} from "@devtool/schema";
import {
  isObject,
  objectOrEmpty,
  parseJsonOrUndefined,
} from "@devtool/schema/json";
import { LineReader } from "@devtool/server/agent";
import type { AcpLimits } from "./acp-agent-options.ts";

/** The time in which messages are counted, in milliseconds. */
const WINDOW_MS = 1000;
/**
 * The number of messages after which the event loop continues with other work.
 */
const MESSAGES_PER_TURN = 50;

/** The fields with data of tools, which keeps the digits of its numbers. */
const DATA: ReadonlySet<string> = new Set(["rawInput", "rawOutput"]);

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
  let windowStartMs = Number.NEGATIVE_INFINITY;
  let count = 0;
  for await (const chunk of output) {
    for (const line of lines.push(chunk)) {
      const now = nowMs();
      if (now - windowStartMs >= WINDOW_MS) {
        windowStartMs = now;
        count = 0;
      }
      const messages = messagesIn(line.trim(), maxMessageBytes);
      count += Math.max(1, messages.length);
      if (count > maxMessagesPerSecond) {
        throw new Error(
          `it sent more than ${maxMessagesPerSecond} messages within a second`,
        );
      }
      if (messages.length === 0 && line.trim() !== "") onForeignLine();
      for (const [at, message] of messages.entries()) {
        yield message;
        if ((at + 1) % MESSAGES_PER_TURN === 0) await nextTurn();
      }
      if (count % MESSAGES_PER_TURN === 0) await nextTurn();
    }
  }
}

/** Returns the messages of a line; none for a line that is something else. */
function messagesIn(line: string, maxBytes: number): AnyMessage[] {
  // Agents print lines that begin with `[` to their log, too.
  if (!/^(\[\s*)?\{/.test(line)) return [];
  assertJsonBudget(line, { maxBytes, maxDepth: 64, maxNodes: 200_000 });
  const value = parseJsonOrUndefined(quoteInexactNumbers(line, DATA));
  if (value === undefined) return brokenAnswer(line);
  return [value].flat().flatMap((each) => messageFrom(each) ?? []);
}

/** Returns what ends the request that a line answers in broken JSON. */
function brokenAnswer(line: string): AnyMessage[] {
  const [, id] = /"id"\s*:\s*("[^"\\]*"|-?\d+)/.exec(line) ?? [];
  if (id === undefined || line.includes('"method"')) return [];
  const error = errorFrom(`it is not JSON: ${oneLine(line, 80)}`);
  return [{ jsonrpc: "2.0", id: JSON.parse(id), error }];
}

/**
 * Reads a message of JSON-RPC 2.0: a request, a notification or an answer.
 * Undefined for anything else.
 *
 * What answers a request ends it, however badly: an answer that is malformed
 * becomes one with an error that says so.
 */
function messageFrom(value: unknown): AnyMessage | undefined {
  if (!isObject(value)) return undefined;
  const { jsonrpc, method, id, params, result } = value;
  const error = value.error ?? undefined;
  const hasId = typeof id === "string" || typeof id === "number";
  if (method !== undefined && method !== null) {
    if (typeof method !== "string") return undefined;
    const call = { jsonrpc: "2.0" as const, method, params: params ?? {} };
    if (hasId || id === null) return { ...call, id };
    return id === undefined ? call : undefined;
  }
  const isAnswer =
    jsonrpc !== undefined || "result" in value || error !== undefined;
  if (!hasId || !isAnswer) return undefined;
  if (error === undefined && "result" in value) {
    return { jsonrpc: "2.0", id, result };
  }
  return { jsonrpc: "2.0", id, error: errorFrom(error) };
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
