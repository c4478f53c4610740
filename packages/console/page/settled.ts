import type { AskedToolCall } from "@devtool/client";
import { useEffect, useState } from "react";

/**
 * Time in milliseconds in which a click or a key that was meant for something
 * else is over.
 */
const SETTLE_MS = 600;

/** Identifies what a call asks: with another question, it is another key. */
export function questionKey({
  toolCallId,
  shownDigest = new Uint8Array(),
}: AskedToolCall): string {
  return `${toolCallId} ${shownDigest.join()}`;
}

/**
 * Whether the questions have been the same for a moment. Before, no answer
 * counts: a question that appears, changes or leaves puts another one under the
 * pointer of somebody who was about to click.
 */
export function useSettled(questions: readonly AskedToolCall[]): boolean {
  const shown = questions.map(questionKey).join("\n");
  const [settled, settle] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => settle(shown), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [shown]);
  return shown === settled;
}
