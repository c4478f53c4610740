/** The kinds of what a server does that take time. */
export type OperationKind =
  /** A request of a client, over whichever protocol, until its answer ends. */
  | "request"
  /** A turn of an agent, until its end is recorded. */
  | "turn"
  /** A request of an agent to its model, as `Turn.observe` reports it. */
  | "step"
  /** A tool call, from when it runs. */
  | "call"
  /** A question to the user, until it is answered or withdrawn. */
  | "question"
  /** An append to the log of a task, until it is durable. */
  | "append"
  /** An attempt to post an event to a webhook. */
  | "post";

/** Something that a server begins, and ends later. */
export interface Operation {
  /** Unique in the server. */
  readonly id: string;
  /** The operation of which this one is a part. Empty for none. */
  readonly parentId: string;
  readonly kind: OperationKind;
  /**
   * The method of a request, the agent of a turn, the model of a step, the tool
   * of a call or question, the address of a post. Empty for an append.
   */
  readonly name: string;
  /** The principal whose task or request it is. */
  readonly principal: string;
  /** Empty for a request that names no task. */
  readonly taskId: string;
  /**
   * The id of the message of a request or turn, of the call of a call or
   * question, or of the config of a post. Empty for others.
   */
  readonly subjectId: string;
}

/** How an operation ended. */
export interface OperationEnd {
  /** `canceled`: it was stopped before its end. */
  readonly outcome: "succeeded" | "failed" | "canceled";
  /** What failed. Undefined unless the outcome is `failed`. */
  readonly error?: unknown;
}

/**
 * Hears what a server does: is called when an operation begins, and may return
 * what is called once when it ends. Names and errors may hold text of clients,
 * agents and models.
 *
 * It is called within the work that it observes, so it must return at once.
 * Its errors go to `ServerSettings.onError` and disturb nothing.
 */
export type Observer = (
  operation: Operation,
) => ((end: OperationEnd) => void) | undefined;
