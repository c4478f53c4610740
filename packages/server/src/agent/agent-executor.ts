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
  ToolCallConfirmation,
  Usage,
} from "@devtool/schema";
import type { AgentCall, CallOutcome } from "./agent-call.ts";
import type { CallUpdate } from "./call-update.ts";
import type { Confirmations } from "./confirmations.ts";

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
  /** Tool calls in their new form, recorded together; one that runs is durable before the agent goes on. `Turn.call` is simpler. */
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

/** What is new in a task since its agent last worked on it. */
export interface TurnNews {
  /** The message to begin with. Undefined where the turn goes on with what an earlier run of the agent began. */
  readonly message: Message | undefined;
  /** The answers that came while the agent did not run, to calls that it asked about before; oldest first. */
  readonly answers: readonly ToolCallConfirmation[];
  /**
   * Whether another executor worked on this task before, in an earlier run of the server or before the idle task was put
   * away: what it kept in memory is gone, and what it recorded is in the task.
   */
  readonly restarted: boolean;
}

/** What an agent works on: from a client's message, or from an approval after a restart, to the end of its work. */
export interface Turn {
  /** The task as its log has it now; reading it again gives what was recorded since. */
  readonly task: Task;
  /** What was said in the tasks that this one goes on from, oldest first; it comes before the task's own history. */
  readonly earlier: readonly Message[];
  /** The message that the turn works on, also where it goes on after an answer or a restart. Undefined for a slash command. */
  readonly prompt: Message | undefined;
  /** What is new since the agent last worked on the task: what this turn begins with. */
  readonly news: TurnNews;
  /**
   * Says something to the user, as the event `text` does. Use it with `yield*`. In a turn that goes on after a restart or an
   * answer, what was said before is not said again.
   */
  say(text: string): Iterable<AgentEvent>;
  /**
   * Makes a tool call of the agent's own: shows it, asks the user if `ask` says so, runs it and gives how it ended. Use it
   * with `yield*`. In a turn that goes on after a restart or an answer, the same call is the one that was made before: what
   * was answered is not asked again, and what ran does not run again.
   */
  call(call: AgentCall, signal: AbortSignal): AsyncGenerator<AgentEvent, CallOutcome>;
  /** Where answers to questions arrive, for agents that publish their calls themselves (`toolCalls`). */
  readonly confirmations: Confirmations;
  /**
   * Moves the messages that were sent to steer this turn to the end of `task.history`. An agent that `takesSteering`
   * calls it before each step of its model, when no call is open; messages that it leaves are taken when the turn ends.
   */
  takeSteering(): void;
}

/**
 * Acts on a task. The seam for whole agents: our own loop, a slash command, an ACP subprocess.
 *
 * `execute` looks at `turn.task` to see what there is to do, so it also continues a turn that a restart cut. It returns
 * when the work is done or after an `end`, throws when it cannot be done (the task fails with the message of a `DevtoolError`), and ends
 * soon after `signal` aborts, with every process it started.
 */
export interface AgentExecutor extends Partial<AsyncDisposable> {
  /**
   * Whether a task, whose history is its first message, is answered with itself or with one message alone, which is all
   * that protocols with such answers then show of it. Default: itself.
   */
  answersWith?(task: Task): "task" | "message";
  /** Whether it calls `Turn.takeSteering`. Default: no, and messages wait for the end of the turn. */
  readonly takesSteering?: boolean;
  /** The name of the model that answers a task as it is now; empty when none does. Default: empty. */
  modelFor?(task: Task): string | Promise<string>;
  execute(turn: Turn, signal: AbortSignal): AsyncIterable<AgentEvent>;
}
