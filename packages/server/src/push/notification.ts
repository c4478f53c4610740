import type { PushConfig, TraceContext } from "@devtool/schema";

/** One event of a task, encoded for one webhook. */
export interface Notification {
  readonly config: PushConfig;
  readonly taskId: string;
  readonly sequence: bigint;
  readonly contentType: string;
  readonly body: string;
  /** The place of the post in a trace. Default: nobody traces it. */
  readonly traceContext?: TraceContext | undefined;
}

/** The outcome of a post: accepted, rejected for good, or to be retried. */
export type PostOutcome =
  | { readonly case: "delivered" }
  | { readonly case: "gone"; readonly reason: string }
  | {
      readonly case: "failed";
      readonly reason: string;
      /** The wait that the answer asks for, in milliseconds. Default: none. */
      readonly retryAfterMs?: number;
    };

/** Sends notifications. */
export interface Poster {
  /**
   * Posts a notification once. A failure of the webhook is an outcome; rejects
   * only with the signal's reason.
   */
  post(notification: Notification, signal: AbortSignal): Promise<PostOutcome>;
}

/**
 * Returns the id of an event, which is the same in each attempt and in each
 * format.
 */
export function eventIdOf({
  taskId,
  sequence,
}: Pick<Notification, "taskId" | "sequence">): string {
  return `${taskId}:${sequence}`;
}
