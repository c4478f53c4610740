import type {
  AgentThought,
  ArtifactUpdate,
  Citation,
  Message,
  Notice,
  Part,
  Summary,
  Task,
  TaskState,
  Usage,
} from "@devtool/schema";
import type { CallUpdate } from "../tool/call-update.ts";
import type { Confirmations } from "../tool/confirmations.ts";

/** What an agent does, as its session records it. */
export type AgentEvent =
  | { readonly case: "text"; readonly value: string }
  | { readonly case: "thought"; readonly value: AgentThought }
  | { readonly case: "citation"; readonly value: Citation }
  | { readonly case: "usage"; readonly value: Usage }
  | { readonly case: "notice"; readonly value: Notice }
  /** Makes an artifact, or adds to one. */
  | { readonly case: "artifact"; readonly value: ArtifactUpdate }
  /** Stands for the conversation before it from now on. */
  | { readonly case: "summary"; readonly value: Summary }
  /** Tool calls in their new form. They are recorded together, and are durable before the agent goes on. */
  | { readonly case: "toolCalls"; readonly value: readonly CallUpdate[] }
  /** Ends the turn in another way than with the work done, or with words. Nothing that follows it is recorded. */
  | { readonly case: "end"; readonly value: TurnEnd }
  /** Ends the turn with the whole answer, where `answersWith` said `message`. Nothing that follows it is recorded. */
  | { readonly case: "reply"; readonly value: readonly Part[] };

/** How a turn ends. */
export interface TurnEnd {
  /** Where it leaves the task: waiting for its user, or at one of the ends that an agent can come to. */
  readonly state:
    | TaskState.COMPLETED
    | TaskState.FAILED
    | TaskState.REJECTED
    | TaskState.INPUT_REQUIRED
    | TaskState.AUTH_REQUIRED;
  /** What there is to say with it, for a person; empty for nothing. */
  readonly text: string;
}

/** What an agent works on: from a client's message, or from an approval after a restart, to the end of its work. */
export interface Turn {
  /** The task as its log has it now; reading it again gives what was recorded since. */
  readonly task: Task;
  /** What was said in the tasks that this one goes on from, oldest first; it comes before the task's own history. */
  readonly earlier: readonly Message[];
  /** Where answers to questions arrive. */
  readonly confirmations: Confirmations;
}

/**
 * Acts on a task. The seam for whole agents: our own loop, a slash command, an ACP subprocess.
 *
 * `execute` looks at `turn.task` to see what there is to do, so it also continues a turn that a restart cut. It returns
 * when the work is done or after an `end`, throws when it cannot be done (the task fails with the message of a `DevtoolError`), and ends
 * soon after `signal` aborts, with every process it started.
 */
export interface AgentExecutor extends AsyncDisposable {
  /**
   * Whether a task, whose history is its first message, is answered with itself or with one message alone, which is all
   * that protocols with such answers then show of it. Default: itself.
   */
  answersWith?(task: Task): "task" | "message";
  /** The name of the model that answers a task as it is now; empty when none does. */
  modelFor(task: Task): string | Promise<string>;
  execute(turn: Turn, signal: AbortSignal): AsyncIterable<AgentEvent>;
}
