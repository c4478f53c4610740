import { deriveState, ToolCallStatus } from "@devtool/schema";
import type { AgentEvent } from "../agent/agent-executor.ts";
import type { CallUpdate } from "../agent/call-update.ts";
import { callEntries } from "./call-entry.ts";
import type { EventLog, LogEntry } from "./event-log.ts";
import { derivedEntry, type Ending, payloadOf } from "./turn-entries.ts";

/** The maximum number of pieces of an answer that wait to be recorded; the agent pauses beyond it. */
const MAX_WAITING = 1024;

/** Writes what happens in a task to its log: pieces of the answer together, each entry under the name of the model that answers. */
export class TurnRecorder {
  /** The model that answers, as it was chosen when the run began. */
  model = "";
  readonly #log: EventLog;
  /** Pieces of the answer that wait for the end of this turn of the event loop, to be recorded together. */
  #waiting: LogEntry[] = [];
  #flushing: NodeJS.Immediate | undefined;

  constructor(log: EventLog) {
    this.#log = log;
  }

  /** The sequence that the next entry gets, behind the pieces of the answer that are not recorded yet. */
  get nextSequence(): bigint {
    return this.#log.task.sequence + BigInt(this.#waiting.length) + 1n;
  }

  /** Appends what waits and then entries, under the name of the model that is answering (STREAM-1). */
  async append(entries: readonly LogEntry[]): Promise<void> {
    clearImmediate(this.#flushing);
    this.#flushing = undefined;
    const all = [...this.#waiting, ...entries.map((entry) => ({ ...entry, model: this.model }))];
    this.#waiting = [];
    if (all.length > 0) await this.#log.append(all);
  }

  /** Appends entries and, when they leave the task in another state, the change of it. */
  async appendWithState(entries: readonly LogEntry[]): Promise<void> {
    const appended = entries.length > 0 ? [this.append(entries)] : [];
    const { task } = this.#log;
    const state = deriveState(task);
    if (state !== task.state) appended.push(this.append([derivedEntry(state, task)]));
    await Promise.all(appended);
  }

  /** Records what the agent did. Gives what to wait for before it goes on: a call that runs is durable then; all else is a moment later. */
  record(event: Exclude<AgentEvent, Ending>): Promise<void> | undefined {
    if (event.case === "toolCalls") return this.#recordCalls(event.value);
    this.#waiting.push({ payload: payloadOf(event), model: this.model });
    // What the agent asks next depends on a summary: it must be in the task when it goes on.
    const held = event.case === "summary" || this.#waiting.length >= MAX_WAITING || this.#log.failure;
    if (held) return this.append([]);
    this.#flushing ??= setImmediate(() => this.append([]).catch(() => undefined));
    return undefined;
  }

  /** A call may run, and show more of what it does, once it is durable that it does. Store failures surface on the next append. */
  #recordCalls(updates: readonly CallUpdate[]): Promise<void> | undefined {
    const recorded = this.appendWithState(callEntries(this.#log.task, updates));
    if (updates.some(({ call }) => call.status === ToolCallStatus.EXECUTING)) return recorded;
    recorded.catch(() => undefined);
    return undefined;
  }
}
