import type { PushConfig } from "@devtool/schema";

/** One event on its way to one endpoint. */
export interface Notification {
  readonly config: PushConfig;
  readonly taskId: string;
  readonly sequence: bigint;
  readonly contentType: string;
  readonly body: string;
}

/** What became of a post: taken, refused for good, or to be tried again. */
export type PostOutcome =
  | { readonly case: "delivered" }
  | { readonly case: "gone"; readonly reason: string }
  | { readonly case: "failed"; readonly reason: string };

/** Posts notifications. An endpoint's failure is an outcome; rejects only with the signal's reason. */
export interface Poster {
  post(notification: Notification, signal: AbortSignal): Promise<PostOutcome>;
}

/** The id of an event: the same each time it is posted, and in each format. */
export function eventIdOf({ taskId, sequence }: Pick<Notification, "taskId" | "sequence">): string {
  return `${taskId}:${sequence}`;
}
