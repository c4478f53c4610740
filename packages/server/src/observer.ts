/** The kinds of what a server does that take time. */
export type OperationKind =
  /**
   * A request of a client, over whichever protocol, until its answer ends. Also
   * one that reaches no method: it is refused, nothing is served at its path,
   * or it is for a document that needs no credentials, such as a health probe.
   */
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
  | "post"
  /** A task that another server left behind, until it is open here. */
  | "takeover"
  /** A time in which the server accepts no work, as its probes find. */
  | "outage";

/** Something that a server begins, and ends later. */
export interface Operation {
  /** Unique in the server. */
  readonly id: string;
  /** The operation of which this one is a part. Empty for none. */
  readonly parentId: string;
  readonly kind: OperationKind;
  /**
   * The method of a request, the agent of a turn, the model of a step, the tool
   * of a call or question, the address of a post, the reason of an outage. The
   * method and path of HTTP of a request that reaches no method of ours. Empty
   * for an append and a takeover.
   */
  readonly name: string;
  /**
   * The protocol of a request: `connect`, `grpc`, `grpc-web`, `in-process`,
   * `ag-ui`, `gemini-cli`, the version and binding of A2A such as
   * `a2a-1.0/jsonrpc`, or `http` for one that reaches no method. Empty for
   * others.
   */
  readonly binding: string;
  /**
   * The network address that a request comes from which reaches no method: that
   * of a proxy, if there is one. Empty for others.
   */
  readonly peer: string;
  /**
   * The principal whose task or request it is. Empty where it is not known.
   */
  readonly principal: string;
  /** Empty for a request that names no task, and for an outage. */
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
