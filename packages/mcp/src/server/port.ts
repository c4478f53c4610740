import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  ListTasksResponse,
  SendMessageRequestSchema,
  Task,
  TaskEvent,
} from "@devtool/schema";

/** An agent behind the port, as a host's model reads about it. */
export interface PortAgent {
  /** The name by which sessions choose it; empty on a server with one agent. */
  readonly name: string;
  /** The name for people, as in its agent card. */
  readonly displayName: string;
  readonly description: string;
  readonly skills: readonly PortSkill[];
}

/** A skill of an agent, as its agent card lists it. */
export interface PortSkill {
  readonly name: string;
  readonly description: string;
}

/**
 * The tasks of one caller at a server.
 *
 * Every function that fails throws a `DevtoolError`, whose message the caller
 * may see unless its code is `Code.Internal`.
 */
export interface PortTasks {
  /** Resolves when the message is durable, with its task. */
  send(
    request: MessageInitShape<typeof SendMessageRequestSchema>,
    signal: AbortSignal,
  ): Promise<Task>;

  /** Returns a task with its whole history. */
  get(taskId: string, signal: AbortSignal): Promise<Task>;

  /** Yields the events of a task after a sequence, until it has ended. */
  follow(
    taskId: string,
    afterSequence: bigint,
    signal: AbortSignal,
  ): AsyncIterable<TaskEvent>;

  cancel(taskId: string, signal: AbortSignal): Promise<void>;

  /** Lists tasks, those that changed last first, up to `pageSize` a page. */
  list(
    page: { readonly pageToken: string; readonly pageSize: number },
    signal: AbortSignal,
  ): Promise<ListTasksResponse>;
}
