import type { ContentBlock, StopReason } from "@agentclientprotocol/sdk";
import {
  ApprovalMode,
  confirmationsOf,
  type IdeContext,
  OPTION_CANCEL,
  Role,
  type Task,
  TaskState,
  type ToolCallConfirmation,
} from "@devtool/schema";
import {
  type AgentEvent,
  type AgentExecutor,
  Code,
  DevtoolError,
  quoted,
  type Turn,
  tellIdeContext,
} from "@devtool/server/agent";
import type { AcpAgentOptions } from "./acp-agent-options.ts";
import type { AcpSession } from "./acp-session.ts";
import { AcpTurn, type PromptEnd } from "./acp-turn.ts";
import { clientOption, requestedOptions } from "./client-options.ts";
import { needsLogin } from "./enter-session.ts";
import { contextBlock, promptBlocks, text } from "./prompt-blocks.ts";
import { notice } from "./update-events.ts";
import { wordsBeside } from "./user-questions.ts";

/** The prompt with which the agent continues a turn that was interrupted. */
const CONTINUE =
  "Continue with what you were doing: you were interrupted before you had finished.";

/** The sessions of one agent, as its executors use them. */
export interface SessionPool {
  readonly options: AcpAgentOptions;
  /** The principal of the operator. */
  readonly operator: string;
  /**
   * Returns the running session of a turn's conversation, or opens it: the one
   * that the log names, or a new one.
   */
  enter(
    turn: Pick<Turn, "task" | "sessionFence">,
    signal: AbortSignal,
  ): Promise<AcpSession>;
  /** Marks the session of a conversation as idle. */
  leave(task: Task): Promise<void>;
  /**
   * The model of a conversation in turns that choose none; empty while its
   * session is not open.
   */
  modelOf(task: Task): string;
}

/** Works on the tasks of one agent over ACP. */
export class AcpExecutor implements AgentExecutor {
  readonly keepsSession = true;
  readonly #host: SessionPool;

  constructor(host: SessionPool) {
    this.#host = host;
  }

  modelFor(task: Task): string {
    const prompt = task.history.findLast(
      (message) =>
        message.role === Role.USER && confirmationsOf(message).length === 0,
    );
    return (
      prompt?.model || task.sessionSettings?.model || this.#host.modelOf(task)
    );
  }

  async *execute(turn: Turn, signal: AbortSignal): AsyncGenerator<AgentEvent> {
    try {
      yield* this.#work(turn, signal);
    } catch (reason) {
      signal.throwIfAborted();
      if (!needsLogin(reason)) throw reason;
      yield {
        case: "end",
        value: { state: TaskState.AUTH_REQUIRED, text: reason.message },
      };
    } finally {
      await this.#host.leave(turn.task);
    }
  }

  /**
   * Sends prompts until the agent has done the turn. An agent that ends within
   * it is started again once.
   */
  async *#work(turn: Turn, signal: AbortSignal): AsyncGenerator<AgentEvent> {
    let isContinued = turn.news.message === undefined && turn.news.restarted;
    let declined: readonly ToolCallConfirmation[] = turn.news.answers.filter(
      ({ selectedOptionId }) => selectedOptionId === OPTION_CANCEL,
    );
    let words: readonly string[] = [];
    for (let restarts = 0; ; ) {
      const session = await this.#host.enter(turn, signal);
      // A session that is new knows nothing of the editor.
      const { agentSessionId, ideContext } = turn.task;
      const told = session.id === agentSessionId ? ideContext : undefined;
      yield* this.#begin(turn, session, signal);
      const blocks =
        words.length > 0
          ? words.map(text)
          : isContinued && session.isContinued
            ? [CONTINUE, ...wordsBeside(turn.news.answers, turn.task)].map(text)
            : yield* this.#blocks(turn, { session, told }, signal);
      const { permission } = this.#host.options;
      const prompt = new AcpTurn({
        turn,
        session,
        permission,
        declined,
      });
      const end = yield* this.#run(prompt, blocks, session, signal);
      words = end.case === "stopped" ? prompt.words : [];
      if (words.length > 0) continue;
      if (!session.connection.ended.aborted || end.case === "stopped") {
        yield* prompt.endOutdated();
        return yield* finish(end, this.#host.options.name);
      }
      // Nobody knows how far such a call got, so the agent must not make it
      // again unasked.
      const hasLostCall = turn.task.history
        .at(-1)
        ?.parts.some(
          ({ content }) =>
            content.case === "toolCall" &&
            content.value.result.case === "error" &&
            content.value.result.value.type === "interrupted",
        );
      restarts = prompt.wasAnswered ? 0 : restarts + 1;
      if (hasLostCall === true || restarts > 1 || session.connection.isFaulty) {
        yield* prompt.endOutdated();
        return yield* finish(end, this.#host.options.name);
      }
      yield notice(
        `${DevtoolError.from(session.connection.ended.reason).message}: it is started again`,
      );
      isContinued = true;
      declined = [...declined, ...prompt.declined];
    }
  }

  /**
   * Runs a prompt. When the signal aborts, the agent cancels it, or ends when
   * the server stops.
   */
  async *#run(
    prompt: AcpTurn,
    blocks: ContentBlock[],
    session: AcpSession,
    signal: AbortSignal,
  ): AsyncGenerator<AgentEvent, PromptEnd> {
    let isDone = false;
    try {
      const end = yield* prompt.run(blocks, signal);
      isDone = true;
      session.endTurn();
      return end;
    } finally {
      const isCanceled =
        signal.aborted &&
        DevtoolError.from(signal.reason).code === Code.Canceled;
      if (!isDone && isCanceled) {
        await session.cancel();
      }
      // As after a crash: the agent's own record keeps the turn open, too.
      else if (!isDone) {
        await session[Symbol.asyncDispose]();
      }
    }
  }

  /**
   * Records the id of the session, and sets the mode, the options and the model
   * that the operator and the client ask for.
   */
  async *#begin(
    turn: Turn,
    session: AcpSession,
    signal: AbortSignal,
  ): AsyncGenerator<AgentEvent> {
    const known = turn.task.agentSessionId;
    if (session.id !== known) yield { case: "session", value: session.id };
    if (session.id !== known && known !== "") {
      yield notice(
        `Agent ${quoted(this.#host.options.name)} cannot go on with its earlier session: it begins a new one.`,
      );
    }
    const {
      mode = "",
      planMode = "plan",
      configOptions = {},
      name,
    } = this.#host.options;
    const isPlan =
      turn.task.sessionSettings?.approvalMode === ApprovalMode.PLAN;
    if (isPlan) {
      if (!session.mode.has(planMode)) throw missingMode(name, planMode);
      await session.mode.enterPlan(planMode, signal);
    } else if (mode === "") {
      await session.mode.leavePlan(planMode, signal);
    } else {
      await session.mode.set(mode, signal);
    }
    const requested = Object.entries(requestedOptions(turn.task)).map(
      (option) => {
        return [
          option[0],
          clientOption(this.#host.options, session.config.options, option),
        ] as const;
      },
    );
    for (const [id, value] of [
      ...Object.entries(configOptions),
      ...requested,
    ]) {
      // An agent may have its mode as an option, too, which would set it to
      // another one than the mode to plan in.
      if (!isPlan || !session.config.isModeOption(id)) {
        await session.config.set(id, value, signal);
      }
    }
    await session.config.useModel(
      turn.prompt?.model || turn.task.sessionSettings?.model || "",
      signal,
    );
  }

  /** Returns the prompt of the turn, after what the user's editor shows. */
  async *#blocks(
    turn: Turn,
    {
      session,
      told,
    }: {
      readonly session: AcpSession;
      readonly told: IdeContext | undefined;
    },
    signal: AbortSignal,
  ): AsyncGenerator<AgentEvent, ContentBlock[]> {
    const { task, prompt } = turn;
    if (task.command) {
      const { commandPath, args } = task.command;
      return [
        text(
          `/${[...commandPath, args].filter((word) => word !== "").join(" ")}`,
        ),
      ];
    }
    if (!prompt) return [text(CONTINUE)];
    const { options, operator } = this.#host;
    const accepts =
      session.connection.initialized.agentCapabilities?.promptCapabilities ??
      {};
    const telling = { ide: options.ide, operator, told };
    const context = yield* tellIdeContext(telling, turn, signal);
    return [
      ...(context === "" ? [] : [contextBlock(context, accepts)]),
      ...promptBlocks(prompt, options.name, accepts),
    ];
  }
}

/**
 * Creates the error for an agent that has no mode for the approval mode `plan`.
 */
export function missingMode(name: string, planMode: string): DevtoolError {
  return new DevtoolError(
    `agent ${quoted(name)} has no mode ${quoted(planMode)}`,
    Code.FailedPrecondition,
    { remedy: "choose another approval_mode" },
  );
}

/**
 * Yields the end of a turn. Throws the reason of an agent that refused the
 * prompt or has ended.
 */
function* finish(end: PromptEnd, name: string): Generator<AgentEvent> {
  if (end.case === "failed") throw end.reason;
  if (end.reason === "end_turn") return;
  // Nobody knows what an end means that is not in version 1 of ACP.
  const { state, text: words } = ENDINGS.get(end.reason) ?? {
    state: TaskState.FAILED,
    text:
      end.reason === ""
        ? "ended its turn without a stop reason: nobody knows whether it is done."
        : `ended its turn with the stop reason ${quoted(end.reason)}, which ACP does not have: nobody knows whether it is done.`,
  };
  yield {
    case: "end",
    value: { state, text: `Agent ${quoted(name)} ${words}` },
  };
}

/** An end of a turn that is not its success. */
interface Ending {
  readonly state: TaskState.FAILED | TaskState.REJECTED;
  readonly text: string;
}

const ENDINGS: ReadonlyMap<string, Ending> = new Map<StopReason, Ending>([
  [
    "max_tokens",
    {
      state: TaskState.FAILED,
      text: "stopped: it reached its maximum number of tokens.",
    },
  ],
  [
    "max_turn_requests",
    {
      state: TaskState.FAILED,
      text: "stopped: it reached its maximum number of requests in a turn.",
    },
  ],
  ["refusal", { state: TaskState.REJECTED, text: "refuses to go on." }],
  ["cancelled", { state: TaskState.FAILED, text: "canceled the turn itself." }],
]);
