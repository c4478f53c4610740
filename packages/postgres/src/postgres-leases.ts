import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import { failpoint } from "@devtool/internal/failpoint";
import { TaskState } from "@devtool/schema";
import {
  Code,
  DevtoolError,
  type TaskLease,
  type TaskLeases,
} from "@devtool/server/store";
import type { Pool } from "pg";
import { query } from "./connection.ts";
import { idOfKey, keyText } from "./key-text.ts";
import { storeError } from "./postgres-error.ts";

/**
 * The number of renewals in the time of a lease, so that one that fails or is
 * late costs nothing.
 */
const RENEWALS = 4;

/** The states of tasks that have ended. */
const TERMINAL: readonly TaskState[] = [
  TaskState.COMPLETED,
  TaskState.FAILED,
  TaskState.CANCELED,
  TaskState.REJECTED,
];

/** A condition that holds for a row of `task` whose owner does not live. */
const IS_ORPHANED =
  "NOT EXISTS (SELECT FROM replica WHERE replica.id = task.owner AND replica.alive_until > clock_timestamp())";

/**
 * Takes a task for a server whose own row has not expired. Without a fence,
 * another server has the task or this one's term has ended.
 *
 * The task must still have the owner that the statement saw: it does not see
 * the row of a server whose term began after it, and would take that server for
 * a dead one.
 */
const ACQUIRE = `
  WITH me AS (
    SELECT FROM replica WHERE id = $2 AND alive_until > clock_timestamp()
  ), seen AS (
    SELECT id, owner FROM task
    WHERE id = $1 AND (owner IS NULL OR owner = $2 OR ${IS_ORPHANED}) AND EXISTS (SELECT FROM me)
  ), taken AS (
    UPDATE task SET owner = $2, fence = fence + 1 FROM seen
    WHERE task.id = seen.id AND task.owner IS NOT DISTINCT FROM seen.owner
    RETURNING fence
  )
  SELECT (SELECT fence FROM taken) AS fence, EXISTS (SELECT FROM me) AS alive`;

/**
 * The time in milliseconds after an outage of the store in which the tasks that
 * are left over are those that it interrupted.
 */
const AFTER_OUTAGE_MS = 60_000;

/**
 * Leases that end by the clock of the database.
 *
 * A server renews one row of its own for all its tasks. A task belongs to the
 * server that its row names while that server's row has not expired. A server
 * that renews too late has lost all its leases, even those of tasks that nobody
 * acquired; it begins a new term under another id.
 */
export class PostgresLeases implements TaskLeases, AsyncDisposable {
  readonly #pool: Pool;
  readonly #renewals: Pool;
  readonly #leaseMs: number;
  /** What `announce` told last; empty before. */
  #basis = "";
  #term: Promise<Term> | undefined;
  /** The last term that has begun. */
  #latest: Term | undefined;
  /**
   * When the first term after an outage of the store began, on the monotonic
   * clock.
   */
  #backAtMs = Number.NEGATIVE_INFINITY;
  #givenUp: Promise<void> | undefined;
  readonly #onGivenUp: () => void;

  /**
   * @param renewals a connection that nothing else waits for, so that a busy
   * server keeps its leases
   * @param onGivenUp tells the other servers that this one has given up its
   * leases
   * @param leaseMs the time in milliseconds after which a server that does not
   * renew its leases loses them
   */
  constructor(
    pool: Pool,
    renewals: Pool,
    onGivenUp: () => void,
    leaseMs: number,
  ) {
    this.#pool = pool;
    this.#renewals = renewals;
    this.#onGivenUp = onGivenUp;
    this.#leaseMs = leaseMs;
  }

  /**
   * The id under which this server holds its leases now; undefined before the
   * first one.
   */
  get owner(): string | undefined {
    return this.#latest?.owner;
  }

  /** Whether this server holds its leases now, as far as its clock tells. */
  get isHeld(): boolean {
    return this.#latest?.lost.aborted === false;
  }

  async create(taskId: string): Promise<TaskLease> {
    const term = await this.currentTerm();
    return this.#lease(taskId, 1n, term);
  }

  async acquire(taskId: string): Promise<TaskLease | undefined> {
    for (;;) {
      const term = await this.currentTerm();
      failpoint("devtool:postgres.lease.before");
      const { rows } = await query<{ fence: string | null; alive: boolean }>(
        this.#pool,
        {
          name: "acquire",
          text: ACQUIRE,
          values: [keyText(taskId), term.owner],
        },
      );
      failpoint("devtool:postgres.lease.after");
      const { fence = null, alive = false } = rows[0] ?? {};
      if (fence !== null) return this.#lease(taskId, BigInt(fence), term);
      if (alive) return undefined;
      term.end();
    }
  }

  async orphaned(
    unreachable: readonly string[] = [],
    failed: readonly string[] = [],
  ): Promise<readonly string[]> {
    const { rows } = await query<{ id: string }>(this.#pool, {
      name: "orphaned",
      text: `SELECT id FROM (
          SELECT id FROM task WHERE owner IS NULL AND state = ANY ($1::smallint[])
          UNION ALL (
            SELECT id FROM task WHERE owner IS NOT NULL AND state <> ALL ($2::smallint[]) AND ${IS_ORPHANED}
            ORDER BY state = ANY ($1::smallint[]) DESC
          ) UNION ALL SELECT id FROM task WHERE (owner IS NULL OR ${IS_ORPHANED})
            AND id IN (SELECT task_id FROM inbox WHERE answered_at IS NULL)
          UNION ALL SELECT task.id FROM task JOIN push_config ON task_id = task.id AND active AND position < sequence
            WHERE owner IS NULL OR ${IS_ORPHANED}
          ) AS orphan
          WHERE NOT EXISTS (SELECT FROM label WHERE task_id = orphan.id AND workspace = ANY ($3::text[]))
            AND orphan.id <> ALL ($4::text[]) LIMIT 256`,
      values: [
        [TaskState.SUBMITTED, TaskState.WORKING],
        TERMINAL,
        unreachable.map(keyText),
        failed.map(keyText),
      ],
    });
    return rows.map(({ id }) => idOfKey(id));
  }

  async announce(basis: string): Promise<boolean> {
    // A term that begins later has it from its first moment.
    this.#basis = basis;
    const { owner } = await this.currentTerm();
    const { rowCount } = await query(this.#pool, {
      text: `WITH own AS (UPDATE replica SET basis = $2 WHERE id = $1)
        SELECT FROM replica
        WHERE id <> $1 AND alive_until > clock_timestamp() AND basis NOT IN ('', $2) LIMIT 1`,
      values: [owner, basis],
    });
    return rowCount === 1;
  }

  giveUp(): Promise<void> {
    this.#givenUp ??= this.#giveUp();
    return this.#givenUp;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.giveUp();
  }

  /** Ends the term, so that other servers can acquire its tasks at once. */
  async #giveUp(): Promise<void> {
    const term = await this.#term?.catch(() => undefined);
    term?.end();
    // The tasks are free without it as well, when the lease ends.
    await this.#renewals
      .query("DELETE FROM replica WHERE id = $1", [term?.owner])
      .catch(() => undefined);
    this.#onGivenUp();
  }

  #lease(taskId: string, fence: bigint, { owner, lost }: LeaseTerm): TaskLease {
    const values = [keyText(taskId), owner, fence];
    return {
      fence,
      lost,
      afterOutage: performance.now() - this.#backAtMs < AFTER_OUTAGE_MS,
      isCurrent: async () => {
        if (lost.aborted) return false;
        const text =
          "SELECT FROM task WHERE id = $1 AND owner = $2 AND fence = $3";
        const { rowCount } = await query(this.#pool, {
          name: "is-current",
          text,
          values,
        });
        return rowCount === 1;
      },
      release: async () => {
        if (lost.aborted) return;
        const text =
          "UPDATE task SET owner = NULL WHERE id = $1 AND owner = $2 AND fence = $3";
        await query(this.#pool, { text, values });
      },
    };
  }

  /**
   * Returns the time in which this server holds leases now. Begins one when
   * there is none, or the last one has ended.
   */
  async currentTerm(): Promise<LeaseTerm> {
    if (this.#givenUp) {
      throw new DevtoolError("the store is closed", Code.Unavailable);
    }
    this.#term ??= this.#beginTerm();
    const term = await this.#term;
    if (!term.lost.aborted) return term;
    this.#term = undefined;
    return this.currentTerm();
  }

  async #beginTerm(): Promise<Term> {
    try {
      const term = await Term.begin(this.#renewals, this.#leaseMs, this.#basis);
      if (this.#latest?.endedUnreachable) this.#backAtMs = performance.now();
      this.#latest = term;
      return term;
    } catch (reason) {
      this.#term = undefined;
      throw storeError(reason);
    }
  }
}

/** The time during which a server holds its leases, under an id of its own. */
export interface LeaseTerm {
  readonly owner: string;
  /** Aborted when the term ends. */
  readonly lost: AbortSignal;
  /** Ends the term at this server. */
  end(): void;
}

class Term implements LeaseTerm {
  readonly owner: string = randomUUID();
  readonly #pool: Pool;
  readonly #leaseMs: number;
  readonly #lost = new AbortController();
  readonly lost: AbortSignal = this.#lost.signal;
  /**
   * Ends the term when a renewal is late. It fires before anything else when a
   * suspended process continues.
   */
  #deadline: NodeJS.Timeout | undefined;
  #isUnreachable = false;
  #renewal: NodeJS.Timeout | undefined;

  private constructor(pool: Pool, leaseMs: number) {
    this.#pool = pool;
    this.#leaseMs = leaseMs;
    setMaxListeners(0, this.#lost.signal);
  }

  /** Registers a new term, and renews it until it ends. */
  static async begin(
    pool: Pool,
    leaseMs: number,
    basis: string,
  ): Promise<Term> {
    const term = new Term(pool, leaseMs);
    const sentAt = performance.now();
    await pool.query(
      `WITH expired AS (DELETE FROM replica WHERE alive_until < clock_timestamp()),
         unread AS (DELETE FROM inbox WHERE answered_at < clock_timestamp() - interval '1 hour')
       INSERT INTO replica (id, alive_until, basis) VALUES ($1, clock_timestamp() + $2 * interval '1 ms', $3)`,
      [term.owner, leaseMs, basis],
    );
    term.#prolong(sentAt);
    return term;
  }

  /** Whether the term ended because the store could not be reached. */
  get endedUnreachable(): boolean {
    return this.lost.aborted && this.#isUnreachable;
  }

  end(): void {
    clearTimeout(this.#deadline);
    clearTimeout(this.#renewal);
    this.#lost.abort(
      new DevtoolError("the lease of the task was lost", Code.Aborted),
    );
  }

  /**
   * @param sentAt when the renewal that succeeded was sent: the database counts
   * from a later time
   */
  #prolong(sentAt: number): void {
    clearTimeout(this.#deadline);
    const left = sentAt + this.#leaseMs - performance.now();
    this.#deadline = setTimeout(() => this.end(), Math.max(0, left)).unref();
    this.#renewLater();
  }

  #renewLater(): void {
    this.#renewal = setTimeout(
      () => void this.#renew(),
      this.#leaseMs / RENEWALS,
    ).unref();
  }

  async #renew(): Promise<void> {
    const sentAt = performance.now();
    try {
      const { rowCount } = await this.#pool.query({
        name: "renew",
        text: `UPDATE replica SET alive_until = clock_timestamp() + $2 * interval '1 ms'
          WHERE id = $1 AND alive_until > clock_timestamp()`,
        values: [this.owner, this.#leaseMs],
      });
      if (this.lost.aborted) return;
      this.#isUnreachable = false;
      if (rowCount === 1) {
        this.#prolong(sentAt);
      } else {
        this.end();
      }
    } catch {
      // Tried again until the deadline.
      this.#isUnreachable = true;
      if (!this.lost.aborted) this.#renewLater();
    }
  }
}
