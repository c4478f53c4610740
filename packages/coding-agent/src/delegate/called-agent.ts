import type { MessageInitShape } from "@bufbuild/protobuf";
import type { DevtoolClient } from "@devtool/client";
import type { SendMessageRequestSchema, Task } from "@devtool/schema";

/** What a request for a task of an agent has beside its message. */
export type TaskSettings = Pick<
  MessageInitShape<typeof SendMessageRequestSchema>,
  "settings" | "sessionSettings" | "messageSettings"
>;

/** A call of an agent, by which its work can be found and canceled later. */
export interface CanceledCall {
  readonly task: Pick<Task, "id" | "principal" | "sender">;
  readonly toolCallId: string;
  /** The id of the agent's task. Empty if it is not known. */
  readonly taskId: string;
  /** As `PlacedCall.conversation`. */
  readonly conversation?:
    | { readonly contextId: string; readonly taskIds: readonly string[] }
    | undefined;
}

/** Keeps the cancellations that agents could not be told, and tells them later. */
export interface CancelKeeper {
  /**
   * Keeps a cancellation. Returns whether it did: it is then durable, and the
   * agent is told within an hour, or the operator that it was not.
   */
  keep(agent: CalledAgent, call: CanceledCall): Promise<boolean>;
  /** Drops what is kept for a task of an agent, since it has work again. */
  drop(agentName: string, taskId: string): Promise<void>;
}

/** An agent that another one may give work to. */
export interface CalledAgent {
  /** The name in the configuration: letters, digits, `-` and `_`. */
  readonly name: string;
  /** What the agent is for, for the model. */
  readonly description: string;
  /** Where the agent is, for the user who approves a call. */
  readonly place: string;
  /** Identifies the agent in a `CallChain`. */
  readonly chainId: string;
  /**
   * SHA-256, in hex, of all that decides who gets the work. An approval of a
   * call covers it.
   */
  readonly definitionHash: string;
  /**
   * Set for an agent of a file, which works as the calling agent itself: its
   * name, and what it is told before the message.
   */
  readonly local?: { readonly name: string; readonly instructions: string };
  /** Whether a file of the repository brings the agent. Default: false. */
  readonly isOfRepository?: boolean;
  /**
   * Whether the agent is one of this server, which takes ids of new tasks.
   * Default: false.
   */
  readonly isOwnServer?: boolean;
  /** Keeps what the agent cannot be told. Default: nothing is kept. */
  readonly untold?: CancelKeeper | undefined;
  /** Connects to the agent, for the caller of a task. */
  connect(task: Task, signal: AbortSignal): Promise<Connection>;
  /**
   * Returns the settings of the agent for a message, of a new task or not, which
   * are no wider than those of the task that calls it. Throws `Code.FailedPrecondition` when the
   * agent would not keep to them.
   */
  settingsFor(task: Task): TaskSettings;
}

/** A connection to a called agent. */
export interface Connection {
  readonly client: DevtoolClient;
  /**
   * Whether the agent starts nothing twice when a message comes again: it has
   * the development-tool extension.
   */
  readonly isIdempotent: boolean;
}
