import { setImmediate as nextTurn } from "node:timers/promises";
import type { AnyMessage } from "@agentclientprotocol/sdk";
import { assertJsonBudget } from "@devtool/schema";
import { isObject, parseJsonOrUndefined } from "@devtool/schema/json";
import { LineReader } from "@devtool/server/agent";
import type { AcpLimits } from "./acp-agent-options.ts";

/** The time in which messages are counted, in milliseconds. */
const WINDOW_MS = 1000;
/**
 * The number of messages after which the event loop continues with other work.
 */
const MESSAGES_PER_TURN = 50;

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
 * Reads the messages of JSON-RPC from the bytes of an agent, one per line.
 * Other lines are skipped.
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
      if (++count > maxMessagesPerSecond) {
        throw new Error(
          `it sent more than ${maxMessagesPerSecond} messages within a second`,
        );
      }
      const isObjectLine = line.startsWith("{");
      if (isObjectLine) {
        assertJsonBudget(line, {
          maxBytes: maxMessageBytes,
          maxDepth: 64,
          maxNodes: 200_000,
        });
      }
      const message = isObjectLine ? parseJsonOrUndefined(line) : undefined;
      if (isMessage(message)) {
        yield message;
      } else if (line.length > 0) {
        onForeignLine();
      }
      if (count % MESSAGES_PER_TURN === 0) await nextTurn();
    }
  }
}

/**
 * Returns whether a value is a message of JSON-RPC 2.0: a request, a
 * notification or a response.
 */
function isMessage(value: unknown): value is AnyMessage {
  if (!isObject(value)) return false;
  const { method, id, error } = value;
  const hasId = typeof id === "string" || typeof id === "number" || id === null;
  if (method !== undefined) {
    return typeof method === "string" && (hasId || id === undefined);
  }
  const isError =
    isObject(error) &&
    typeof error.code === "number" &&
    typeof error.message === "string";
  return hasId && ("result" in value || isError);
}
