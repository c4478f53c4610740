import { create } from "@bufbuild/protobuf";
import { visibleText } from "@devtool/internal/visible-text";
import {
  awaitedToolCalls,
  deriveState,
  findToolCall,
  findToolCallDetail,
  isAwaitingApproval,
  type Task,
  TaskState,
  TextContentSchema,
  ToolCallStatus,
} from "@devtool/schema";
import type { AgentEvent } from "../agent/agent-executor.ts";
import { type CallUpdate, changedDetail } from "../agent/call-update.ts";
import { PieceJoiner } from "../agent/piece-joiner.ts";
import { assertWorkspaceInPlace } from "../files/workspace-roots.ts";
import type { InboxAnswer } from "../store/task-inbox.ts";
import { callEntries } from "./call-entry.ts";
import type { EventLog, LogEntry } from "./event-log.ts";
import { inChosenState } from "./goal-progress.ts";
import type { SharedTick } from "./shared-tick.ts";
import type { TaskOperations } from "./task-operations.ts";
import { type Ending, stateEntry } from "./turn-entries.ts";

/**
 * The maximum number of events that wait to be recorded. Beyond it, the agent
 * pauses.
 */
const MAX_WAITING = 1024;

/**
 * Records what happens in a task in its log, with the name of the model that
 * answers.
 *
 * Collects the agent's events of one turn of the event loop, or of one tick,
 * and appends them together.
 */
export class TurnRecorder {
  /**
   * The name of the model that answers, as it was when the run began; before
   * the first run, the one that answered last.
   */
  model: string;
  readonly #log: EventLog;
  /** The events that are appended at the end of this turn or tick. */
  #waiting: LogEntry[] = [];
  readonly #joiner = new PieceJoiner();
  #flushing: Disposable | undefined;

  readonly #arguments: "editable" | "fixed";
  readonly #tick: SharedTick | undefined;
  readonly #operations: TaskOperations | undefined;

  /**
   * `args`: whether the agent takes arguments that the user wrote in place of
   * its own. `tick`: when all tasks append on a store that servers share.
   * `operations`: what the server's observer hears.
   */
  constructor(
    log: EventLog,
    args: "editable" | "fixed",
    tick: SharedTick | undefined,
    operations: TaskOperations | undefined,
  ) {
    this.#log = log;
    this.model = log.task.model;
    this.#arguments = args;
    this.#tick = tick;
    this.#operations = operations;
  }

  /**
   * The sequence of the next entry, after the events that are not appended yet.
   */
  get nextSequence(): bigint {
    return this.#log.task.sequence + BigInt(this.#waiting.length) + 1n;
  }

  /**
   * Appends the waiting events and then some entries, with the name of the
   * model that answers (STREAM-1).
   */
  async append(
    entries: readonly LogEntry[],
    answer?: InboxAnswer,
  ): Promise<void> {
    this.#flushing?.[Symbol.dispose]();
    this.#flushing = undefined;
    if (entries.length > 0) this.#pushAll(this.#joiner.rest());
    const all = [
      ...this.#waiting,
      ...entries.map((entry) => ({ ...entry, model: this.model })),
    ];
    this.#waiting = [];
    if (all.length > 0) await this.#log.append(all, answer);
  }

  /** Appends entries, and the change of state when they imply another one. */
  async appendWithState(
    entries: readonly LogEntry[],
    answer?: InboxAnswer,
  ): Promise<void> {
    const appended = entries.length > 0 ? [this.append(entries, answer)] : [];
    const { task } = this.#log;
    const state = deriveState(task);
    if (state !== task.state) {
      // While a task waits for its user, its state lists the calls that ask
      // (TOOL-2).
      const change =
        state === TaskState.INPUT_REQUIRED
          ? { openCalls: awaitedToolCalls(task) }
          : {};
      appended.push(this.append([stateEntry(state, change)]));
    }
    await Promise.all(appended);
  }

  /**
   * Records an event of the agent. Returns a promise when the agent must wait
   * for it: until a call that executes is durable, or while too many events
   * wait. Other events become durable a moment later.
   */
  record(event: Exclude<AgentEvent, Ending>): Promise<void> | undefined {
    if (event.case === "toolCalls") return this.#recordCalls(event.value);
    if (event.case === "session") {
      this.#log.conversation.agentSessionId = event.value;
      return this.append([{ payload: { case: undefined } }]);
    }
    if (event.case === "usage") {
      this.#operations?.noteUsage(event.value, this.model);
    }
    if (event.case === "text" || event.case === "thought") {
      const pieces = this.#joiner.add(event);
      if (pieces.length === 0) return undefined;
      this.#pushAll(pieces);
    } else {
      const recorded =
        event.case === "goalProgress"
          ? { ...event, value: inChosenState(event.value, this.#log.task) }
          : event;
      this.#pushAll([...this.#joiner.rest(), recorded]);
    }
    // The agent's next request depends on these, which must be in the task
    // before that.
    const held =
      event.case === "summary" ||
      event.case === "ideContext" ||
      event.case === "goalProgress" ||
      event.case === "workflowRun" ||
      this.#waiting.length >= MAX_WAITING ||
      this.#log.failure;
    if (held) return this.append([]);
    const flush = (): void => void this.append([]).catch(() => undefined);
    this.#flushing ??= this.#tick?.later(flush) ?? setImmediate(flush);
    return undefined;
  }

  #pushAll(events: readonly Recorded[]): void {
    for (const event of events) {
      this.#waiting.push({ payload: payloadOf(event), model: this.model });
    }
  }

  /**
   * Records tool calls. A call may run only when its EXECUTING is durable, and
   * its workspace is where it was. Store failures surface on the next append.
   */
  #recordCalls(updates: readonly CallUpdate[]): Promise<void> | undefined {
    const { task } = this.#log;
    if (updates.some((update) => startsCall(update, task))) {
      assertWorkspaceInPlace(task.settings?.workspacePath ?? "");
    }
    const offered = updates.map((update) => {
      const { call, detail = findToolCallDetail(task, call.toolCallId) } =
        update;
      const isQuestion = detail !== undefined && detail.parentToolCallId !== "";
      // A call that asks says whether the user may write other arguments
      // (TOOL-12).
      if (
        this.#arguments === "fixed" ||
        isQuestion ||
        !isAwaitingApproval(call)
      ) {
        return update;
      }
      return {
        call,
        detail: changedDetail(detail, { argumentsEditable: true }),
      };
    });
    const recorded = this.appendWithState(callEntries(task, offered));
    this.#operations?.note(task, offered);
    const { hasOneWriter } = this.#log;
    if (updates.some((update) => mustWait(update, task, hasOneWriter))) {
      return recorded;
    }
    recorded.catch(() => undefined);
    return undefined;
  }
}

/** Whether a call begins to run, and does not merely say how far it is. */
function startsCall({ call }: CallUpdate, task: Task): boolean {
  return (
    call.status === ToolCallStatus.EXECUTING &&
    findToolCall(task, call.toolCallId)?.status !== ToolCallStatus.EXECUTING
  );
}

/**
 * Whether the agent waits until an update is durable: for a call that executes.
 * A step that begins as a task of this server, which it names, has its first
 * effect in the log of that task, and so behind this in a store with one writer.
 * Servers that share a store wait: another one may have taken this task alone.
 * An answer to a question of another task may leave the server, so it waits.
 */
function mustWait(
  update: CallUpdate,
  task: Task,
  hasOneWriter: boolean,
): boolean {
  const { call, detail } = update;
  if (call.status !== ToolCallStatus.EXECUTING) return false;
  const { delegation, stepRun, parentToolCallId = "" } = detail ?? {};
  const isStep = stepRun !== undefined && parentToolCallId === "";
  const isNamed = isStep && (delegation?.taskId ?? "") !== "";
  return !(isNamed && hasOneWriter && startsCall(update, task));
}

type Recorded = Exclude<
  AgentEvent,
  Ending | { readonly case: "toolCalls" | "session" }
>;

/**
 * Returns an event as the log has it. A notice may hold words of others, and
 * looks like the server's own.
 */
function payloadOf(event: Recorded): LogEntry["payload"] {
  switch (event.case) {
    case "text":
      return {
        case: event.case,
        value: create(TextContentSchema, { text: event.value }),
      };
    case "notice":
      return {
        case: event.case,
        value: { ...event.value, text: visibleText(event.value.text) },
      };
    default:
      return event;
  }
}
