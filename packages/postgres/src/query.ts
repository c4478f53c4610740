import type { Pool, QueryConfig, QueryResult } from "pg";
import { storeError } from "./postgres-error.ts";

/**
 * Runs a statement on a connection of a pool. Rejects with a `DevtoolError`
 * when it fails.
 */
export async function query<R extends Record<string, unknown>>(
  pool: Pool,
  statement: QueryConfig,
): Promise<QueryResult<R>> {
  try {
    return await pool.query<R>(statement);
  } catch (reason) {
    throw storeError(reason);
  }
}
