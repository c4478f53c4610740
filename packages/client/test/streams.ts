import { emptyTask, reduceTask, type TaskEvent } from "@devtool/schema";
import type { ResumeOptions } from "../src/index.ts";

/**
 * Reconnects without waiting, and gives up after three streams without an
 * event.
 */
export const QUICK: ResumeOptions & { readonly maxAttempts: number } = {
  delay: async () => undefined,
  maxAttempts: 3,
};

/** A limit that a passing test never reaches. */
export function deadline(): AbortSignal {
  return AbortSignal.timeout(60_000);
}

/** Joins the text that an agent wrote. */
export function joinText(events: readonly TaskEvent[]): string {
  return events
    .map(({ payload }) => (payload.case === "text" ? payload.value.text : ""))
    .join("");
}

/** Joins the text of the artifacts that an agent made. */
export function madeText(events: readonly TaskEvent[]): string {
  return events
    .reduce(reduceTask, emptyTask())
    .artifacts.flatMap(({ parts }) => parts)
    .map(({ content }) => (content.case === "text" ? content.value : ""))
    .join("");
}
