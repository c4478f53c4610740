import { setTimeout as delay, setImmediate } from "node:timers/promises";
import { failpoint } from "@devtool/internal/failpoint";
import type { TaskEvent } from "@devtool/schema";
import {
  assertFollows,
  Code,
  DevtoolError,
  quoted,
} from "@devtool/server/store";
import type { Pool } from "pg";
import { type Append, type AppendGroup, takeBatch } from "./append-batch.ts";
import { appendStatement } from "./append-statement.ts";
import { keyText } from "./key-text.ts";
import { isConflict, isOutage, storeError } from "./postgres-error.ts";
import type { PostgresLeases } from "./postgres-leases.ts";

/**
 * How often a batch is tried again after another transaction was in its way.
 */
const MAX_CONFLICTS = 5;

/**
 * The time in milliseconds between attempts while the store cannot be reached.
 */
const OUTAGE_RETRY_MS = 200;

type OnWritten = (taskId: string, rows: readonly Uint8Array[]) => void;

/**
 * Writes appends in batches, one batch at a time and each in one statement.
 *
 * Appends that arrive while a batch is written share the next one. So the
 * appends of a task keep their order, and more writers make larger batches.
 */
export class AppendQueue {
  readonly #pool: Pool;
  readonly #leases: Pick<PostgresLeases, "owner" | "isHeld">;
  readonly #onWritten: OnWritten;
  readonly #appends: Append[] = [];
  #writing: Promise<void> | undefined;

  /**
   * @param leases those under which this server writes
   * @param onWritten called for each task whose rows were committed, before
   * their appends resolve
   */
  constructor(
    pool: Pool,
    leases: Pick<PostgresLeases, "owner" | "isHeld">,
    onWritten: OnWritten,
  ) {
    this.#pool = pool;
    this.#leases = leases;
    this.#onWritten = onWritten;
  }

  /**
   * Resolves when the append is committed. Rejects with a `DevtoolError` when
   * it does not follow the log of its task, or cannot be written. Waits for a
   * store that cannot be reached while this server holds its leases.
   */
  write(append: Append): Promise<void> {
    this.#appends.push(append);
    this.#writing ??= this.#writeAll();
    return append.committed.promise;
  }

  /** Resolves when all appends so far are settled. */
  async settle(): Promise<void> {
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    // Appends of one turn of the event loop share a batch.
    await setImmediate();
    while (this.#appends.length > 0) {
      const groups = takeBatch(this.#appends);
      try {
        failpoint("devtool:postgres.append.before");
        const written = await this.#commitInTime(groups);
        failpoint("devtool:postgres.append.after");
        for (const { taskId, appends } of groups) {
          if (!written.has(taskId)) continue;
          const rows = appends.flatMap((append) => append.rows);
          this.#onWritten(
            taskId,
            rows.map(({ data }) => data),
          );
          for (const { committed } of appends) committed.resolve();
        }
        const refused = groups.filter(({ taskId }) => !written.has(taskId));
        if (refused.length > 0) await this.#refuse(refused);
      } catch (reason) {
        const error = storeError(reason);
        for (const { appends } of groups) {
          for (const { committed } of appends) committed.reject(error);
        }
      }
    }
    this.#writing = undefined;
  }

  /**
   * Returns the ids of the tasks whose groups were written. Tries again while
   * the store cannot be reached and nobody else can have the tasks.
   */
  async #commitInTime(
    groups: readonly AppendGroup[],
  ): Promise<ReadonlySet<string>> {
    for (let attempt = 1; ; attempt++) {
      try {
        const written = await this.#commit(groups);
        return attempt === 1
          ? written
          : new Set([...written, ...(await this.#writtenBefore(groups))]);
      } catch (reason) {
        if (!isOutage(reason) || !this.#leases.isHeld) throw reason;
        await delay(OUTAGE_RETRY_MS);
      }
    }
  }

  /**
   * Returns the ids of the tasks whose last event is that of their group: an
   * earlier attempt was committed, and its reply was lost.
   */
  async #writtenBefore(groups: readonly AppendGroup[]): Promise<string[]> {
    const heads = await this.#headsOf(groups);
    return groups.flatMap(({ taskId, fence, appends }) => {
      const head = heads.get(keyText(taskId));
      const last = appends.at(-1)?.events.at(-1)?.sequence;
      return head?.sequence === last && head?.fence === fence ? [taskId] : [];
    });
  }

  async #headsOf(
    groups: readonly AppendGroup[],
  ): Promise<ReadonlyMap<string, LogHead>> {
    const { rows } = await this.#pool.query<{
      id: string;
      sequence: string;
      fence: string;
    }>("SELECT id, sequence, fence FROM task WHERE id = ANY ($1)", [
      groups.map(({ taskId }) => keyText(taskId)),
    ]);
    return new Map(
      rows.map(({ id, sequence, fence }) => [
        id,
        { sequence: BigInt(sequence), fence: BigInt(fence) },
      ]),
    );
  }

  /** Returns the ids of the tasks whose groups were written. */
  async #commit(groups: readonly AppendGroup[]): Promise<ReadonlySet<string>> {
    const ids = new Map(groups.map(({ taskId }) => [keyText(taskId), taskId]));
    for (let conflicts = 0; ; conflicts++) {
      try {
        const { rows } = await this.#pool.query<{ id: string }>(
          appendStatement(groups, this.#leases.owner),
        );
        return new Set(rows.map(({ id }) => ids.get(id) ?? id));
      } catch (reason) {
        if (!isConflict(reason) || conflicts === MAX_CONFLICTS) throw reason;
      }
    }
  }

  /** Rejects the appends of groups that were not written, with the reason. */
  async #refuse(groups: readonly AppendGroup[]): Promise<void> {
    const heads = await this.#headsOf(groups);
    for (const { taskId, fence, appends } of groups) {
      const head = heads.get(keyText(taskId));
      for (const { events, committed } of appends) {
        committed.reject(
          refusal(events, fence, {
            sequence: head?.sequence ?? 0n,
            fence: head?.fence ?? fence,
          }),
        );
      }
    }
  }
}

/** The end of a task's log in the store. */
interface LogHead {
  readonly sequence: bigint;
  readonly fence: bigint;
}

/** Creates the error of an append that was not written. */
function refusal(
  events: readonly TaskEvent[],
  fence: bigint,
  head: LogHead,
): unknown {
  const taskId = events[0]?.taskId ?? "";
  if (head.fence !== fence) {
    return new DevtoolError(
      `task ${quoted(taskId)} has fence ${head.fence}, not ${fence}: there was another writer, another server has taken it over`,
      Code.Aborted,
    );
  }
  try {
    assertFollows(events, head.sequence);
  } catch (reason) {
    return reason;
  }
  // It follows now, but did not when it was tried.
  return new DevtoolError(
    `task ${quoted(taskId)} changed meanwhile: there was another writer`,
    Code.Aborted,
  );
}
