import type {
  ContentBlock,
  CreateElicitationResponse,
} from "@agentclientprotocol/sdk";
import type { Arrivals } from "@devtool/internal/arrivals";
import { listOrEmpty, objectOrEmpty } from "@devtool/internal/json";
import { oneLine } from "@devtool/internal/visible-text";
import {
  findToolCallDetail,
  openToolCalls,
  type ToolCall,
  type ToolCallConfirmation,
  ToolCallStage,
} from "@devtool/schema";
import {
  type AgentEvent,
  failedCall,
  type PermissionPolicy,
  type Turn,
} from "@devtool/server/agent";
import type { AcpSession } from "./acp-session.ts";
import { CallBook } from "./call-book.ts";
import { EarlierQuestions } from "./earlier-questions.ts";
import { elicitationCall, elicitationResponse } from "./elicitation.ts";
import type { OpenQuestion, SessionItem } from "./inbox.ts";
import { PermissionQuestions } from "./permission-questions.ts";
import { calls, notice, UpdateEvents } from "./update-events.ts";
import {
  OF_NO_CALL,
  type UserQuestion,
  UserQuestions,
  wordsBeside,
} from "./user-questions.ts";

/**
 * The time in which an agent that says a call runs may still ask about it, in
 * milliseconds.
 */
const HOLD_MS = 100;

/** The end of a call that was approved, and that the agent did not make again. */
const OUTDATED = failedCall(
  "approval_outdated",
  "the agent did not make the call again: it did not run",
);

/** How the agent ended a prompt. */
export type PromptEnd =
  | { readonly case: "stopped"; readonly reason: string }
  | { readonly case: "failed"; readonly reason: unknown };

/** The dependencies of `AcpTurn`. */
export interface AcpTurnOptions {
  readonly turn: Turn;
  readonly session: AcpSession;
  readonly permission: PermissionPolicy | undefined;
  /**
   * The answers of the user that declined a call: an equal call that asks again
   * is declined.
   */
  readonly declined: readonly ToolCallConfirmation[];
}

/** One prompt to the agent, with its questions to the user. */
export class AcpTurn {
  readonly #options: AcpTurnOptions;
  readonly #book: CallBook;
  readonly #updates: UpdateEvents;
  readonly #earlier: EarlierQuestions;
  readonly #questions: UserQuestions;
  readonly #permissions: PermissionQuestions;
  /** The calls that an earlier run of the agent left. */
  readonly #before: readonly ToolCall[];
  /** The call that the agent says it runs, and that may still ask. */
  #held: string | undefined;

  constructor(options: AcpTurnOptions) {
    const { turn, session, permission, declined } = options;
    this.#options = options;
    this.#book = new CallBook({
      task: () => turn.task,
      terminalOutput: (id) => session.terminals.outputOf(id),
    });
    this.#updates = new UpdateEvents(this.#book, session.told);
    this.#questions = new UserQuestions(turn.confirmations, this.#book);
    this.#before = openToolCalls(turn.task);
    const ids = [...this.#before, ...declined].map(
      ({ toolCallId }) => toolCallId,
    );
    this.#earlier = new EarlierQuestions(turn.task, ids);
    this.#permissions = new PermissionQuestions({
      turn,
      session,
      permission,
      book: this.#book,
      questions: this.#questions,
      earlier: this.#earlier,
    });
    // The answer may come before the agent asks again.
    for (const id of ids) {
      if (this.#book.call(id).stage === ToolCallStage.AWAITING_APPROVAL) {
        turn.confirmations.open(id);
      }
    }
  }

  /** The user's answers that declined a call in this prompt. */
  get declined(): readonly ToolCallConfirmation[] {
    return this.#questions.declined;
  }

  /** What the user said beside the answers of this prompt. */
  get words(): readonly string[] {
    return wordsBeside(this.#questions.answers, this.#options.turn.task);
  }

  /** Whether the user answered something in this prompt. */
  get wasAnswered(): boolean {
    return this.#questions.wereAnswered;
  }

  /**
   * Sends the prompt and yields what the agent does. Returns how it ended;
   * rejects when the signal aborts.
   */
  async *run(
    blocks: ContentBlock[],
    signal: AbortSignal,
  ): AsyncGenerator<AgentEvent, PromptEnd> {
    const { session, turn } = this.#options;
    const queue = session.prompt(blocks, turn.traceContext());
    for (;;) {
      if (this.#held !== undefined) {
        yield* this.#release(this.#held, queue, signal);
      }
      const item = await queue.take(signal);
      if (item.case === "stopped") {
        yield* this.#updates.flush();
        yield* this.#drain(queue, signal);
        return { case: "stopped", reason: item.value };
      }
      if (item.case === "failed") {
        yield* this.#updates.flush();
        yield* this.#drain(queue, signal);
        if (session.connection.ended.aborted) {
          yield* this.#outlive(queue, signal);
        }
        return { case: "failed", reason: item.value };
      }
      yield* this.#handle(item, queue, signal);
    }
  }

  /**
   * Ends the calls that the user approved before the agent was started again,
   * and that it did not make again.
   */
  *endOutdated(): Generator<AgentEvent> {
    const { task } = this.#options.turn;
    for (const { toolCallId, toolName, description = "" } of this.#before) {
      const { selectedOptionId = "" } =
        findToolCallDetail(task, toolCallId) ?? {};
      const call = this.#book.call(toolCallId);
      const isApproved = call.stage === ToolCallStage.SCHEDULED;
      if (!isApproved || selectedOptionId === "") continue;
      yield* calls(call.ended(OUTDATED));
      const name = oneLine(`${toolName} ${description}`.trim());
      // Said in the answer, which clients without the extension see, too.
      const value = `\n\n(What you approved did not run, because the agent did not make the call again after it was restarted: ${name})`;
      yield { case: "text", value };
    }
  }

  /**
   * Lets a held call run, unless the next item within `HOLD_MS` is its request
   * for permission.
   */
  async *#release(
    held: string,
    queue: Arrivals<SessionItem>,
    signal: AbortSignal,
  ): AsyncGenerator<AgentEvent> {
    const next = await queue.peek(HOLD_MS, signal);
    this.#held = undefined;
    const asked =
      next?.case === "permission"
        ? this.#book.announce(objectOrEmpty(next.value.params.toolCall))
        : undefined;
    if (asked !== held) yield* calls(this.#book.call(held).executing());
  }

  /**
   * Waits until the client has performed what the agent asked it to do before
   * the agent ended the turn.
   */
  async *#drain(
    queue: Arrivals<SessionItem>,
    signal: AbortSignal,
  ): AsyncGenerator<AgentEvent> {
    while (this.#permissions.arePerforming) {
      const item = await queue.take(signal);
      if (item.case === "performed") {
        yield* this.#permissions.performed(item.value);
      }
    }
  }

  async *#handle(
    item: Exclude<SessionItem, { case: "stopped" | "failed" }>,
    queue: Arrivals<SessionItem>,
    signal: AbortSignal,
  ): AsyncGenerator<AgentEvent> {
    switch (item.case) {
      case "update":
        return yield* this.#update(item.value);
      case "notice":
        yield* this.#updates.flush();
        return yield notice(item.value);
      case "permission":
        yield* this.#updates.flush();
        return yield* this.#permissions.ask(item.value, queue, signal);
      case "elicitation":
        yield* this.#updates.flush();
        return yield* this.#elicitation(item.value, queue, signal);
      case "answered":
        return yield* this.#questions.answer(item.value);
      case "performed":
        return yield* this.#permissions.performed(item.value);
      case "withdrawn":
        return yield* this.#questions.withdraw(item.value);
      case "terminal":
        for (const call of this.#book.callsWithTerminal(item.value)) {
          if (call.stage === ToolCallStage.EXECUTING) {
            yield* calls(call.executing());
          }
        }
        return;
      default:
        item satisfies never;
    }
  }

  *#update(update: SessionItemValue<"update">): Generator<AgentEvent> {
    const { sessionUpdate: kind } = update;
    this.#options.session.noteState(update);
    if (kind !== "tool_call" && kind !== "tool_call_update") {
      return yield* this.#updates.of(update);
    }
    const isPending =
      update.status === undefined ||
      update.status === null ||
      update.status === "pending";
    const id = this.#book.update(update);
    if (id === undefined) return yield* this.#updates.of(update);
    const call = this.#book.call(id);
    const { stage } = call;
    // While questions of an earlier run are left, a new call may be what one of
    // them was about: only its question tells.
    const isNew = stage === ToolCallStage.UNSPECIFIED;
    if (isNew && isPending && this.#earlier.areLeft) return;
    if (!isPending) this.#earlier.noteReport(id);
    this.#book.appendOutput(id, update);
    const mayAsk = stage <= ToolCallStage.VALIDATING;
    // Output shows that the call runs; a terminal or a diff is announced before
    // the agent asks, too.
    const hasOutput = listOrEmpty(update.content).some(
      (item) => objectOrEmpty(item).type === "content",
    );
    if (update.status === "in_progress" && !hasOutput && mayAsk) {
      yield* this.#updates.flush();
      yield* calls(call.announced());
      this.#held = id;
      return;
    }
    yield* this.#updates.of(update);
  }

  async *#elicitation(
    question: OpenQuestion<CreateElicitationResponse>,
    queue: Arrivals<SessionItem>,
    signal: AbortSignal,
  ): AsyncGenerator<AgentEvent> {
    const { turn } = this.#options;
    const id = this.#questions.freeId(`${OF_NO_CALL}${turn.task.sequence}-`);
    const update = elicitationCall(id, question.params);
    if (!update) {
      question.answer({ action: "decline" });
      return yield notice(
        `The agent asked for something in a form that cannot be shown, which was declined: ${oneLine(JSON.stringify(question.params), 200)}`,
      );
    }
    turn.confirmations.open(id);
    yield* calls([update]);
    const answer: UserQuestion["answer"] = (confirmation) => {
      question.answer(
        elicitationResponse(question.params, confirmation, turn.task),
      );
      return [];
    };
    this.#questions.ask(id, { callId: id, answer, question }, queue, signal);
  }

  /**
   * Ends the prompt of an agent whose process has ended. Calls that ran fail,
   * with an unknown outcome. Questions stay open until the user answers them.
   */
  async *#outlive(
    queue: Arrivals<SessionItem>,
    signal: AbortSignal,
  ): AsyncGenerator<AgentEvent> {
    for (const call of this.#book.open()) {
      if (call.stage !== ToolCallStage.EXECUTING) continue;
      yield* calls(
        call.failed(
          "interrupted",
          "the agent ended while the call ran: its outcome is unknown",
        ),
      );
    }
    yield* this.#questions.dropOwnCalls();
    while (this.#questions.areOpen) {
      const item = await queue.take(signal);
      if (item.case === "answered") yield* this.#questions.answer(item.value);
    }
  }
}

type SessionItemValue<Case extends SessionItem["case"]> = Extract<
  SessionItem,
  { case: Case }
>["value"];
