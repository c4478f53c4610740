import type { TaskEvent } from "@devtool/schema";
import {
  assertFollows,
  Code,
  DevtoolError,
  failpoint,
  quoted,
} from "@devtool/server/store";
import type { Pool } from "pg";
import { type Append, type AppendGroup, takeBatch } from "./append-batch.ts";
import { appendStatement } from "./append-statement.ts";
import { keyText } from "./key-text.ts";
import { isConflict, storeError } from "./postgres-error.ts";

/**
 * How often a batch is tried again after another transaction was in its way.
 */
const MAX_CONFLICTS = 5;

/**
 * Writes appends in batches, one batch at a time and each in one statement.
 *
 * Appends that arrive while a batch is written share the next one. So the
 * appends of a task keep their order, and more writers make larger batches.
 */
export class AppendQueue {
  readonly #pool: Pool;
  readonly #ownerOf: () => string | undefined;
  readonly #onWritten: (taskIds: readonly string[]) => void;
  readonly #appends: Append[] = [];
  #writing: Promise<void> | undefined;

  /**
   * @param ownerOf returns the owner of tasks that are created now
   * @param onWritten receives the ids of tasks whose events were committed,
   * before their appends resolve
   */
  constructor(
    pool: Pool,
    ownerOf: () => string | undefined,
    onWritten: (taskIds: readonly string[]) => void,
  ) {
    this.#pool = pool;
    this.#ownerOf = ownerOf;
    this.#onWritten = onWritten;
  }

  /**
   * Resolves when the append is committed. Rejects with a `DevtoolError` when
   * it does not follow the log of its task, or cannot be written.
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
    await Promise.resolve();
    while (this.#appends.length > 0) {
      const groups = takeBatch(this.#appends);
      try {
        failpoint("devtool:postgres.append.before");
        const written = await this.#commit(groups);
        failpoint("devtool:postgres.append.after");
        this.#onWritten([...written]);
        for (const { taskId, appends } of groups) {
          if (written.has(taskId)) {
            for (const { committed } of appends) committed.resolve();
          }
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

  /** Returns the ids of the tasks whose groups were written. */
  async #commit(groups: readonly AppendGroup[]): Promise<ReadonlySet<string>> {
    const ids = new Map(groups.map(({ taskId }) => [keyText(taskId), taskId]));
    for (let conflicts = 0; ; conflicts++) {
      try {
        const { rows } = await this.#pool.query<{ id: string }>(
          appendStatement(groups, this.#ownerOf()),
        );
        return new Set(rows.map(({ id }) => ids.get(id) ?? id));
      } catch (reason) {
        if (!isConflict(reason) || conflicts === MAX_CONFLICTS) throw reason;
      }
    }
  }

  /** Rejects the appends of groups that were not written, with the reason. */
  async #refuse(groups: readonly AppendGroup[]): Promise<void> {
    const { rows } = await this.#pool.query<{
      id: string;
      sequence: string;
      fence: string;
    }>("SELECT id, sequence, fence FROM task WHERE id = ANY ($1)", [
      groups.map(({ taskId }) => keyText(taskId)),
    ]);
    const heads = new Map(
      rows.map(({ id, sequence, fence }) => [
        id,
        { sequence, fence: BigInt(fence) },
      ]),
    );
    for (const { taskId, fence, appends } of groups) {
      const head = heads.get(keyText(taskId));
      for (const { events, committed } of appends) {
        committed.reject(
          refusal(events, fence, {
            sequence: BigInt(head?.sequence ?? 0),
            fence: head?.fence ?? fence,
          }),
        );
      }
    }
  }
}

/** Creates the error of an append that was not written. */
function refusal(
  events: readonly TaskEvent[],
  fence: bigint,
  head: { readonly sequence: bigint; readonly fence: bigint },
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
