import type { JsonObject } from "@bufbuild/protobuf";
import type { Task, TaskState, TraceContext, Usage } from "@devtool/schema";

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
  /** The conversation that it belongs to; empty while none is known. */
  readonly contextId: string;
  /** The name of the agent that works on the task, or that a request is for. */
  readonly agent: string;
  /**
   * The trace in which it goes on: that of the request's client, or the one
   * that the log has for a turn or a post. Undefined for none, and for a client
   * without credentials.
   */
  readonly traceContext?: TraceContext | undefined;
  /** Traces that it has to do with and is no part of. Default: none. */
  readonly links?: readonly TraceContext[] | undefined;
  /** What else is known when it begins. Default: nothing. */
  readonly facts?: OperationFacts | undefined;
}

/** What is known about an operation, by its kind. */
export interface OperationFacts {
  /** The id of the message that a request brings, when it became known. */
  readonly messageId?: string | undefined;
  /** The task of a request, when it became known. */
  readonly taskId?: string | undefined;
  /** The conversation of a request, when it became known. */
  readonly contextId?: string | undefined;
  /** The state of the task that a request was answered with last. */
  readonly state?: TaskState | undefined;
  /** The id of the turn that a step belongs to, when it begins. */
  readonly turnId?: string | undefined;
  /** Who provides the model of a step, as OpenTelemetry names them. */
  readonly provider?: string | undefined;
  /** The tokens of a step, or the sum of a turn. */
  readonly usage?: Usage | undefined;
  /**
   * What these tokens cost, in the currency of the prices. Undefined for a model
   * without a price.
   */
  readonly cost?: number | undefined;
  /** The time until the first piece of the answer of a step, in milliseconds. */
  readonly firstPieceMs?: number | undefined;
  /**
   * Why the answer of a step or a turn ended: `stop`, `tool_call`, `length`,
   * `content_filter` or `error`.
   */
  readonly finishReason?: string | undefined;
  /** The task of a turn, as it is then. It has content, and secrets. */
  readonly task?: Task | undefined;
  /** The arguments of a call. They are content. */
  readonly args?: JsonObject | undefined;
  /** The result of a call. It is content. */
  readonly result?: unknown;
  /** The rule by which a call asks. */
  readonly rule?: string | undefined;
  /** The id of the option that answered a question. */
  readonly optionId?: string | undefined;
  /** The sequence of the first event of an append, or of the event of a post. */
  readonly sequence?: bigint | undefined;
  /** How many events an append has. */
  readonly eventCount?: number | undefined;
  /**
   * Whether an append has only pieces of an answer or of output. A turn can
   * have thousands of them.
   */
  readonly isProgress?: boolean | undefined;
}

/** How an operation ended. */
export interface OperationEnd {
  /** `canceled`: it was stopped before its end. */
  readonly outcome: "succeeded" | "failed" | "canceled";
  /** What failed. Undefined unless the outcome is `failed`. */
  readonly error?: unknown;
  /** What became known since it began. Default: nothing. */
  readonly facts?: OperationFacts | undefined;
  /** Further traces that it has to do with. Default: none. */
  readonly links?: readonly TraceContext[] | undefined;
}

/** Is called once when an operation ends. */
export interface EndListener {
  (end: OperationEnd): void;
  /**
   * The operation's own place in a trace, which the server records and hands on
   * to what the operation calls. Default: none.
   */
  readonly traceContext?: TraceContext | undefined;
}

/**
 * Hears what a server does: is called when an operation begins, and may return
 * what is called once when it ends. Names and errors may hold text of clients,
 * agents and models.
 *
 * It is called within the work that it observes, so it must return at once.
 * Its errors go to `ServerSettings.onError` and disturb nothing.
 */
export interface Observer {
  (operation: Operation): EndListener | undefined;
  /**
   * The kinds of operations that it hears of. To hear of appends costs each
   * piece of an answer time. Default: all.
   */
  readonly kinds?: ReadonlySet<OperationKind> | undefined;
}
