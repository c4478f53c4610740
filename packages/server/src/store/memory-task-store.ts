import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { AuditRecord, TaskEvent } from "@devtool/schema";
import { assertFollows } from "./assert-follows.ts";
import { chainRecord } from "./audit-chain.ts";
import { deletedMessage, notAtSequence } from "./deleted-task.ts";
import { encodeRows } from "./event-row.ts";
import {
  comparePositions,
  decodeCursor,
  encodeCursor,
  positionOf,
} from "./list-position.ts";
import { MemoryPushConfigStore } from "./memory-push-config-store.ts";
import { messageIdOf } from "./message-id.ts";
import { labelAfter, matchesLabel, NO_LABEL } from "./task-label.ts";
import type {
  HeadRow,
  ListedTask,
  ServerStore,
  StoredTask,
  TaskAppend,
  TaskDeletion,
  TaskLabel,
  TaskPage,
  TaskQuery,
} from "./task-store.ts";

/**
 * Keeps all logs in memory, for tests and for servers whose tasks may be lost
 * with the process.
 */
export class MemoryTaskStore implements ServerStore {
  /** The push configs of the tasks in this store. */
  readonly pushConfigs: MemoryPushConfigStore = new MemoryPushConfigStore();
  readonly #logs = new Map<string, TaskEvent[]>();
  /** The latest event that records a message, by principal and message id. */
  readonly #messages = new Map<string, TaskEvent>();
  /** The last event of the latest task, by principal and context. */
  readonly #latest = new Map<string, TaskEvent>();
  readonly #labels = new Map<string, TaskLabel>();
  readonly #audit: AuditRecord[] = [];
  readonly #heads = new Map<string, HeadRow>();

  async append({ events, audit = [] }: TaskAppend): Promise<void> {
    const [first] = events;
    if (first) {
      const log = this.#logs.get(first.taskId) ?? [];
      assertFollows(events, log.at(-1)?.sequence ?? 0n);
      log.push(...events);
      this.#logs.set(first.taskId, log);
      this.#labels.set(
        first.taskId,
        events.reduce(labelAfter, this.#labels.get(first.taskId) ?? NO_LABEL),
      );
      const principal = readPrincipal(log);
      for (const event of events) {
        const messageId = messageIdOf(event);
        if (messageId !== undefined) {
          this.#messages.set(JSON.stringify([principal, messageId]), event);
        }
      }
      this.#latest.set(
        JSON.stringify([principal, first.contextId]),
        events.at(-1) ?? first,
      );
    }
    for (const record of audit) {
      this.#audit.push(chainRecord(record, this.#audit.at(-1)).record);
    }
  }

  async delete(deletion: TaskDeletion): Promise<void> {
    const { taskId, sequence, record } = deletion;
    const log = this.#logs.get(taskId);
    const last = log?.at(-1);
    if (!log || !last || last.sequence !== sequence) {
      throw notAtSequence(deletion);
    }
    this.#logs.delete(taskId);
    this.#labels.delete(taskId);
    this.#heads.delete(taskId);
    this.pushConfigs.deleteAll(taskId);
    for (const [key, event] of this.#messages) {
      if (event.taskId === taskId) {
        this.#messages.set(key, deletedMessage(taskId, msOf(record)));
      }
    }
    this.#passOnContext(readPrincipal(log), last);
    for (const [at, each] of this.#audit.entries()) {
      if (each.taskId === taskId) this.#audit[at] = { ...each, shown: "" };
    }
    await this.append({ events: [], audit: [record] });
  }

  /** Makes another task the latest of the context of a deleted one. */
  #passOnContext(principal: string, { taskId, contextId }: TaskEvent): void {
    const key = JSON.stringify([principal, contextId]);
    if (this.#latest.get(key)?.taskId !== taskId) return;
    const [latest] = [...this.#logs.values()]
      .filter((log) => readPrincipal(log) === principal)
      .flatMap((log) => log.at(-1) ?? [])
      .filter((last) => last.contextId === contextId)
      .sort((one, other) =>
        comparePositions(positionOf(one), positionOf(other)),
      );
    if (latest) {
      this.#latest.set(key, latest);
    } else {
      this.#latest.delete(key);
    }
  }

  async *readEvents(taskId: string, after: bigint): AsyncIterable<TaskEvent> {
    yield* this.#logs.get(taskId)?.slice(Number(after)) ?? [];
  }

  async putHead(head: HeadRow): Promise<void> {
    const { sequence = 0n } = this.#heads.get(head.taskId) ?? {};
    if (!this.#logs.has(head.taskId) || head.sequence < sequence) return;
    this.#heads.set(head.taskId, head);
  }

  async readHead(taskId: string): Promise<Uint8Array | undefined> {
    return this.#heads.get(taskId)?.data;
  }

  async list(query: TaskQuery): Promise<TaskPage> {
    const { principal, contextId, state, idPrefix = "", limit, cursor } = query;
    const after = cursor === undefined ? undefined : decodeCursor(cursor);
    const tasks = [...this.#logs.values()]
      .flatMap((log) => this.#listed(log) ?? [])
      .filter((task) => principal === undefined || task.principal === principal)
      .filter(
        ({ last }) => contextId === undefined || last.contextId === contextId,
      )
      .filter(({ last }) => state === undefined || last.state === state)
      .filter(({ last }) => last.taskId.startsWith(idPrefix))
      .filter(
        ({ last }) =>
          after === undefined || comparePositions(positionOf(last), after) > 0,
      )
      .filter((task) => matchesLabel(query, task))
      .sort((one, other) =>
        comparePositions(positionOf(one.last), positionOf(other.last)),
      );
    const page = tasks.slice(0, limit);
    const last = page.at(-1)?.last;
    return {
      tasks: page,
      cursor:
        tasks.length > limit && last
          ? encodeCursor(positionOf(last))
          : undefined,
    };
  }

  #listed(log: readonly TaskEvent[]): ListedTask | undefined {
    const last = log.at(-1);
    if (!last) return undefined;
    const label = this.#labels.get(last.taskId) ?? NO_LABEL;
    return { last, principal: readPrincipal(log), ...label };
  }

  async *readSizes(): AsyncIterable<StoredTask> {
    for (const log of this.#logs.values()) {
      const last = log.at(-1);
      if (!last) continue;
      const { taskId, contextId, state, sequence } = last;
      const rows = encodeRows(log);
      yield {
        ...{ taskId, contextId, state, sequence },
        principal: readPrincipal(log),
        timeMs: positionOf(last).timeMs,
        bytes: rows.reduce((sum, { data }) => sum + data.length, 0),
      };
    }
  }

  findLatest(
    principal: string,
    contextId: string,
  ): Promise<TaskEvent | undefined> {
    return Promise.resolve(
      this.#latest.get(JSON.stringify([principal, contextId])),
    );
  }

  findMessage(
    principal: string,
    messageId: string,
  ): Promise<TaskEvent | undefined> {
    return Promise.resolve(
      this.#messages.get(JSON.stringify([principal, messageId])),
    );
  }

  async *readAudit(after: bigint): AsyncIterable<AuditRecord> {
    yield* this.#audit.slice(Number(after));
  }

  assertWritable(): Promise<void> {
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}

function msOf({ time }: AuditRecord): number {
  return time ? timestampMs(time) : 0;
}

function readPrincipal(log: readonly TaskEvent[]): string {
  const opened = log[0]?.payload;
  return opened?.case === "created" ? opened.value.principal : "";
}
