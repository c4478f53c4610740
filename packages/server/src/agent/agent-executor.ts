import type { JsonObject } from "@bufbuild/protobuf";
import type {
  AgentThought,
  ArtifactUpdate,
  Citation,
  GoalProgress,
  IdeContext,
  Message,
  Notice,
  Part,
  SessionTools,
  Summary,
  Task,
  TaskState,
  ToolCall,
  ToolCallConfirmation,
  TraceContext,
  Usage,
  WorkflowRun,
} from "@devtool/schema";
import type { OperationEnd } from "../observer.ts";
import type { AgentCall, CallOutcome } from "./agent-call.ts";
import type { CallUpdate } from "./call-update.ts";
import type { Confirmations } from "./confirmations.ts";

/**
 * One thing that an agent does in a turn.
 *
 * The server appends each event to the task's log, and clients that stream the
 * task receive it.
 */
export type AgentEvent =
  /**
   * A piece of the agent's answer. Pieces that follow each other form one text.
   */
  | { readonly case: "text"; readonly value: string }
  /** A thought of the model, shown apart from the answer. */
  | { readonly case: "thought"; readonly value: AgentThought }
  /** A source of the answer. */
  | { readonly case: "citation"; readonly value: Citation }
  /**
   * Tokens that one request to a model took, for an agent that does not call
   * `Turn.beginStep`.
   */
  | { readonly case: "usage"; readonly value: Usage }
  /**
   * A message from the system to the user, for instance that a request is
   * repeated.
   */
  | { readonly case: "notice"; readonly value: Notice }
  /**
   * What the agent can use from now on, for a client that limits its tools or
   * brings MCP servers (`Task.sessionTools`).
   */
  | { readonly case: "sessionTools"; readonly value: SessionTools }
  /**
   * What the model is told of the user's editor with their last message
   * (`Message.ideContext`).
   */
  | { readonly case: "ideContext"; readonly value: IdeContext }
  /**
   * How far the task is with its goal. The server itself sends it, after the
   * checks.
   */
  | { readonly case: "goalProgress"; readonly value: GoalProgress }
  /** The run of a workflow that the task is (`Task.workflowRun`). */
  | { readonly case: "workflowRun"; readonly value: WorkflowRun }
  /** Creates an artifact, or appends parts to an existing one. */
  | { readonly case: "artifact"; readonly value: ArtifactUpdate }
  /** Replaces the conversation before it for later requests to the model. */
  | { readonly case: "summary"; readonly value: Summary }
  /**
   * New versions of tool calls, recorded in one append. The agent is resumed
   * once a call that is EXECUTING is durable. A version that cannot follow the
   * one before, such as PENDING after FAILED, fails the turn with
   * `Code.Internal`. `Turn.call` is the simpler way to make a call.
   */
  | { readonly case: "toolCalls"; readonly value: readonly CallUpdate[] }
  /**
   * The id under which the agent keeps the conversation itself. Later turns
   * find it in `Task.agentSessionId`, in every task of the conversation and
   * after a restart. The agent is resumed once it is durable.
   */
  | { readonly case: "session"; readonly value: string }
  /**
   * Ends the turn in the given state, with a text for the user. An executor
   * that returns without it ends the turn as `completed`. Events after it are
   * ignored.
   */
  | { readonly case: "end"; readonly value: TurnEnd }
  /**
   * Ends the turn with the whole answer as one message, for an executor whose
   * `answersWith` returned `message`. Events after it are ignored.
   */
  | { readonly case: "reply"; readonly value: readonly Part[] };

/** How a turn ends. */
export interface TurnEnd {
  /**
   * The state of the task after the turn: it waits for its user, or it has
   * ended.
   */
  readonly state:
    | TaskState.COMPLETED
    | TaskState.FAILED
    | TaskState.REJECTED
    | TaskState.INPUT_REQUIRED
    | TaskState.AUTH_REQUIRED;

  /** A text for the user that explains the state; empty for none. */
  readonly text: string;
}

/** The part of a task that is new since its agent last worked on it. */
export interface TurnNews {
  /**
   * The message that starts the turn. Undefined when the turn continues one
   * that was interrupted by a restart or by a question to the user.
   */
  readonly message: Message | undefined;

  /**
   * Answers to tool calls that arrived while the executor did not run, oldest
   * first. Only calls that have not started yet, or that the user declined, are
   * included.
   */
  readonly answers: readonly ToolCallConfirmation[];

  /**
   * Whether an earlier executor worked on this task: before a restart of the
   * server, or before the idle task was closed. State that it kept in memory is
   * lost; what it recorded is in the task.
   */
  readonly restarted: boolean;
}

/**
 * One turn of work on a task: from a client's message, or from an answer after
 * a restart, until the executor returns.
 */
export interface Turn {
  /**
   * The current state of the task. Each read includes everything recorded until
   * then.
   *
   * Once the history has megabytes, messages before its last summary have no
   * content; for an executor that keeps the conversation itself
   * (`AgentExecutor.keepsSession`), all but the newest.
   */
  readonly task: Task;

  /**
   * Messages of the tasks that this task refers to and continues, oldest first.
   * They precede `task.history`.
   */
  readonly earlier: readonly Message[];

  /**
   * The user's message that the turn works on, also when the turn continues
   * after an answer or a restart. Undefined for a slash command.
   */
  readonly prompt: Message | undefined;

  /** What is new since the agent last worked on the task. */
  readonly news: TurnNews;

  /**
   * For an agent that keeps conversations itself
   * (`AgentExecutor.keepsSession`): grows when another server has had a turn in
   * the conversation since the last one here. What a process of the agent still
   * knows is then out of date: end it, and load the session again. Always 0
   * when this server has its store alone.
   */
  readonly sessionFence: bigint;

  /**
   * Sends text to the user, like the event `text`. Use it with `yield*`.
   *
   * In a turn that continues after a restart or an answer, text that the log
   * already has is not sent again.
   */
  say(text: string): Iterable<AgentEvent>;

  /**
   * Makes a tool call and returns how it ended. Use it with `yield*`.
   *
   * Shows the call to clients, asks the user when `call.ask` is set, and runs
   * it. In a turn that continues after a restart or an answer, a call with the
   * same tool and arguments as one in the log is that call: an answered
   * question is not asked again, and a call that ran does not run again.
   *
   * Rejects with the signal's reason when the signal aborts.
   */
  call(
    call: AgentCall,
    signal: AbortSignal,
  ): AsyncGenerator<AgentEvent, CallOutcome>;

  /**
   * Delivers answers to questions, for an executor that publishes its calls as
   * `toolCalls`.
   */
  readonly confirmations: Confirmations;

  /**
   * Answers a question of the turn for the user, who answered it outside of the
   * protocol, for instance in an editor that the agent is connected to. The
   * answer is checked, stored and audited as one that a client sends.
   *
   * Rejects with `Code.FailedPrecondition` when the question has been answered
   * before, or is another one than the message's `shownDigest` says.
   *
   * @param place where the user answered; clients see it as who answered
   */
  answer(message: Message, place: string): Promise<void>;

  /**
   * Moves the messages that clients sent to steer this turn to the end of
   * `task.history`.
   *
   * An executor that sets `takesSteering` calls it before each step of its
   * model, while no tool call is open. The task takes the remaining messages
   * when the turn ends. Does nothing in a turn with settings of its own
   * (`Message.turnSettings`), which hold until the turn ends.
   */
  takeSteering(): void;

  /**
   * Begins a request to a model, of which the server's observer hears
   * (`ServerSettings.observer`). Call the result when it ends: the tokens in
   * its facts then count for the budgets and are in the log, and the agent
   * yields no `usage` for them.
   *
   * Throws the reason, and ends the turn with it, when a budget is used up.
   *
   * @param model the name of the model; empty when it is not known
   */
  beginStep(model: string, about?: StepFacts): (end: OperationEnd) => void;

  /**
   * Returns the place of the turn in a trace, to hand on to what the agent
   * calls; with the id of a call that runs, that of the call. Undefined when
   * the server records no traces.
   */
  traceContext(callId?: string): TraceContext | undefined;
}

/** What an agent knows about a request to a model when it begins. */
export interface StepFacts {
  /**
   * Who provides the model, as the attribute `gen_ai.provider.name` of
   * OpenTelemetry names it. Default: not known.
   */
  readonly provider?: string | undefined;
  /** The id of the running call that asks. Default: the turn itself asks. */
  readonly callId?: string | undefined;
}

/** A user's answer to a tool call with other arguments. */
export interface ArgumentsEdit {
  /** The task in its current state. */
  readonly task: Task;
  /** The call as it asks now. */
  readonly call: ToolCall;
  /** The user's arguments. They replace those of the call as a whole. */
  readonly args: JsonObject;
}

/**
 * Works on one task. This is the seam for whole agents: an agent loop, a slash
 * command, or another process that speaks an agent protocol.
 *
 * A server has one executor per open task, and runs at most one turn of it at a
 * time. Implementations keep no state that they cannot lose: after a restart, a
 * new executor continues from the task.
 */
export interface AgentExecutor extends Partial<AsyncDisposable> {
  /**
   * Whether the task is answered with a task or with a single message. Default:
   * `task`.
   *
   * Called once, before the task is created; `task.history` holds its first
   * message. After `message`, protocols that know such answers (A2A) show only
   * the message in the response.
   */
  answersWith?(task: Task): "task" | "message";

  /**
   * Whether the executor calls `Turn.takeSteering`. Default false: messages to
   * a working task wait for the end of the turn.
   */
  readonly takesSteering?: boolean | undefined;

  /**
   * Whether the agent keeps the conversation itself, under the id that it
   * yields as `session`. Servers that share a store then work in a conversation
   * one at a time: a turn waits until no other server has one. Default false.
   */
  readonly keepsSession?: boolean | undefined;

  /**
   * Whether a turn goes on where the log of its task ends, since it has no other
   * state. After an outage of the store such a turn goes on by itself, and one
   * of another agent waits for a message. `unasked`: also after a stop of the
   * server, unless a call of the agent itself ran then. Default false.
   */
  readonly continuesFromLog?: boolean | "unasked" | undefined;

  /**
   * Whether slash commands ask models through `Turn.beginStep` alone, or not at
   * all. One then begins although a budget is used up, and ends when it asks a
   * model or makes a call. Default false.
   */
  readonly metersCommands?: boolean | undefined;

  /**
   * Returns the name of the model that answers the task in its current state;
   * empty for none. Called at the start of each turn, which fails when it
   * throws. Default: empty.
   */
  modelFor?(task: Task): string | Promise<string>;

  /**
   * Checks arguments that the user wrote in place of those of a call that waits
   * for approval. An executor that has this method gets answers with the option
   * `modify_arguments`: it finds the arguments with `findModifiedArguments`,
   * and asks again with them, so that the user approves what runs.
   *
   * Throws a `DevtoolError` for arguments that cannot be used, or that a policy
   * denies: the answer is refused, nothing is stored, and the question stays
   * open. Default: the agent's arguments cannot be changed, and every such
   * answer is refused.
   */
  readonly checkArguments?:
    | ((edit: ArgumentsEdit, signal: AbortSignal) => Promise<void>)
    | undefined;

  /**
   * Whether the user can answer a question of a task that waits outside of the
   * protocol (`Turn.answer`), for instance in an editor that is connected.
   * Asked after a restart of the server: the turn then goes on at once, to ask
   * there, and otherwise once the question has been answered. Servers that share
   * a store do not ask. Default: no.
   */
  readonly asksElsewhere?:
    | ((task: Task, signal: AbortSignal) => Promise<boolean>)
    | undefined;

  /**
   * Works on the task and yields what it does.
   *
   * Looks at `turn.task` to see what is left to do, so that the same code
   * continues a turn that a restart interrupted. Returning completes the turn,
   * unless an `end` or `reply` was yielded. Throwing fails the task: clients
   * see the message of a `DevtoolError`, and "internal error" for anything
   * else.
   *
   * When the signal aborts, it ends within a short time, together with every
   * process that it started.
   */
  execute(turn: Turn, signal: AbortSignal): AsyncIterable<AgentEvent>;
}
