import { toBinary } from "@bufbuild/protobuf";
import { failpoint } from "@devtool/internal/failpoint";
import { type AuditRecord, AuditRecordSchema } from "@devtool/schema";
import {
  chainRecord,
  decodeAuditRow,
  detachShown,
} from "@devtool/server/store";
import type { Pool, PoolClient } from "pg";
import { putShown, withShown } from "./audit-shown.ts";
import { bounded, decodeStored } from "./stored-value.ts";

/** The maximum number of records to read or to chain at a time. */
const PAGE = 256;

/**
 * The maximum number of records to read together with what they show, which may
 * have a megabyte each.
 */
const PAGE_SHOWN = 8;

/** The key of the advisory lock under which records are chained. */
const CHAIN_LOCK = 0x64_65_76_75;

/** The smallest number that a row can have. */
const SMALLEST = -(2n ** 63n);

/**
 * The audit log of all servers that share a schema: one chain.
 *
 * Appends put their records beside the chain, in the transaction of the events
 * that they explain, because a chain with one end would make all servers wait
 * for each other. Records are chained later, by one server at a time and in the
 * order in which they were put there; each reader chains what is there before
 * it reads. So a reader sees every record that was committed before.
 */
export class AuditLog {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Reads the records after a number, in order. */
  async *read(after: bigint): AsyncIterable<AuditRecord> {
    await this.chain();
    // Numbers begin with 1. A row with a smaller one was tampered with and must
    // be included.
    let position = after > 0n ? after : SMALLEST;
    let isMissing = false;
    for (;;) {
      const { rows } = await this.#pool.query<{
        number: string;
        data: unknown;
      }>({
        name: "read-audit",
        text: `SELECT number::text, ${bounded("data")} AS data FROM audit WHERE audit.number > $1 ORDER BY audit.number LIMIT $2`,
        values: [position, PAGE],
      });
      for (let at = 0; at < rows.length; at += PAGE_SHOWN) {
        const page = rows.slice(at, at + PAGE_SHOWN).map(decodeAuditRow);
        const records = await withShown(this.#pool, page);
        yield* records;
        isMissing ||= records.some(
          ({ shown, shownDigest }) => shown === "" && shownDigest.length > 0,
        );
        position = records.at(-1)?.number ?? position;
      }
      if (rows.length === PAGE) continue;
      if (!isMissing) return;
      // The record of a deletion meanwhile, which explains it.
      isMissing = false;
      await this.chain();
    }
  }

  /** Puts records beside the chain that come without events. */
  async put(records: readonly AuditRecord[]): Promise<void> {
    if (records.length === 0) return;
    const detached = records.map(detachShown);
    const texts = detached.flatMap(({ text }) => text ?? []);
    failpoint("devtool:postgres.audit-put.before");
    // A text without its record does no harm.
    if (texts.length > 0) await this.#pool.query(putShown(texts));
    await this.#pool.query({
      name: "put-audit",
      text: `INSERT INTO audit_pending (data)
        SELECT data FROM unnest($1::bytea[]) WITH ORDINALITY AS record (data, place) ORDER BY place`,
      values: [
        detached.map(({ record }) => toBinary(AuditRecordSchema, record)),
      ],
    });
    failpoint("devtool:postgres.audit-put.after");
  }

  /** Appends to the chain all records that were committed beside it. */
  async chain(): Promise<void> {
    const client = await this.#pool.connect();
    try {
      while ((await chainPage(client)) === PAGE);
      client.release();
    } catch (reason) {
      client.release(true);
      throw reason;
    }
  }
}

/** Chains records in one transaction, and returns how many. */
async function chainPage(client: PoolClient): Promise<number> {
  await client.query("BEGIN");
  await client.query("SELECT pg_advisory_xact_lock($1)", [CHAIN_LOCK]);
  // A statement of its own after the lock, so that it sees what the holder
  // before has chained.
  const { rows } = await client.query<{ id: string; data: Buffer | null }>(
    `SELECT id, ${bounded("data")} AS data FROM audit_pending ORDER BY id LIMIT $1`,
    [PAGE],
  );
  if (rows.length > 0) {
    const end = await client.query<{ number: string; data: unknown }>(
      `SELECT number::text, ${bounded("data")} AS data FROM audit ORDER BY audit.number DESC LIMIT 1`,
    );
    let last = end.rows[0] && decodeAuditRow(end.rows[0]);
    const numbers: bigint[] = [];
    const chained: Uint8Array[] = [];
    for (const { data } of rows) {
      const next = chainRecord(
        decodeStored(AuditRecordSchema, data, "audit_pending"),
        last,
      );
      last = next.record;
      numbers.push(next.record.number);
      chained.push(next.data);
    }
    await client.query(
      `WITH taken AS (DELETE FROM audit_pending WHERE id = ANY ($1::bigint[]))
       INSERT INTO audit (number, data) SELECT * FROM unnest($2::bigint[], $3::bytea[])`,
      [rows.map(({ id }) => id), numbers, chained],
    );
  }
  failpoint("devtool:postgres.chain.before");
  await client.query("COMMIT");
  failpoint("devtool:postgres.chain.after");
  return rows.length;
}
