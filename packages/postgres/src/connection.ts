import { Code, DevtoolError } from "@devtool/server/store";
import {
  type ClientConfig,
  Pool,
  type QueryConfig,
  type QueryResult,
} from "pg";
import { migrate } from "./migrate.ts";
import { openError, storeError } from "./postgres-error.ts";
import { placeOf } from "./postgres-url.ts";

/** The oldest version of PostgreSQL that a store can use. */
const MIN_VERSION = 15;

/**
 * The maximum number of connections of a store. Appends use one at a time, and
 * readers share the others.
 */
const DEFAULT_CONNECTIONS = 8;

/** The time in milliseconds after which an attempt to connect has failed. */
const CONNECT_TIMEOUT_MS = 10_000;

/** Options of a store in PostgreSQL. */
export interface PostgresOptions {
  /**
   * The URL of the database: `postgres://user:password@host:5432/database`,
   * with the parameters of `pg`.
   */
  readonly url: string;

  /**
   * The schema that holds the tables. Created when it is missing. Default
   * `devtool`.
   */
  readonly schema?: string | undefined;

  /**
   * The maximum number of connections for statements. One more listens, and one
   * renews leases. Default 8.
   */
  readonly maxConnections?: number | undefined;

  /**
   * The time in milliseconds after which other servers take over the tasks of
   * this one when it renews its leases no longer. From 1000 to 3600000;
   * default 3000.
   */
  readonly leaseMs?: number | undefined;
}

/** An open database. */
export interface Database {
  /** The connections for statements. Whoever opened the database ends them. */
  readonly pool: Pool;

  /**
   * One more connection, for what must not wait for the others. Whoever opened
   * the database ends it.
   */
  readonly urgent: Pool;

  /** The configuration of a further connection. */
  readonly config: ClientConfig;

  /** The schema that holds the tables. */
  readonly schema: string;
}

/**
 * Connects to a database and brings its tables to this release's version.
 *
 * Throws a `DevtoolError` that says what to do when the URL is invalid, the
 * server cannot be reached or is too old, or the user has too few rights.
 */
export async function openDatabase({
  url: given,
  schema = "devtool",
  maxConnections = DEFAULT_CONNECTIONS,
}: PostgresOptions): Promise<Database> {
  const { label, url, options } = placeOf(given);
  // Spaces and backslashes separate words in the parameter `options`.
  const searchPath = `"${schema.replaceAll('"', '""')}"`.replaceAll(
    /[\\ ]/g,
    String.raw`\$&`,
  );
  const config: ClientConfig = {
    connectionString: url,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    application_name: "devtool",
    options: `${options} -c search_path=${searchPath}`.trim(),
  };
  const pool = new Pool({ ...config, max: maxConnections });
  // A connection that breaks while nobody uses it is replaced. Statements
  // report errors of their own.
  pool.on("error", () => undefined);
  const urgent = new Pool({ ...config, max: 1 }).on("error", () => undefined);
  try {
    await prepare(pool, schema, label);
    return { pool, urgent, config, schema };
  } catch (reason) {
    await pool.end();
    throw openError(label, reason);
  }
}

async function prepare(
  pool: Pool,
  schema: string,
  label: string,
): Promise<void> {
  const client = await pool.connect();
  try {
    const { rows } = await client.query<{ server_version_num: string }>(
      "SHOW server_version_num",
    );
    assertVersion(label, Number(rows[0]?.server_version_num));
    await migrate(client, schema);
  } finally {
    client.release();
  }
}

/**
 * Throws `Code.FailedPrecondition` for a version that is too old, as
 * `server_version_num` has it: 150004 is 15.4.
 */
export function assertVersion(label: string, version: number): void {
  const major = Math.floor(version / 10_000);
  if (major >= MIN_VERSION) return;
  throw new DevtoolError(
    `PostgreSQL at ${label} has version ${major}`,
    Code.FailedPrecondition,
    {
      remedy: `use version ${MIN_VERSION} or newer`,
    },
  );
}

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
