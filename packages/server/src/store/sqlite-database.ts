import type { DatabaseSync } from "node:sqlite";
import { Code, DevtoolError } from "../errors.ts";
import { LAYOUT, migrate } from "./layout.ts";

/**
 * Opens a SQLite file for this process alone and lays it out. Throws a `DevtoolError` that names the file when it cannot
 * be used: damaged, from a newer release, or in use by another process.
 */
export async function openDatabase(path: string, schema: string): Promise<DatabaseSync> {
  const { DatabaseSync } = await import("node:sqlite");
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path);
    prepare(database, schema, path);
    return database;
  } catch (reason) {
    database?.close();
    throw openError(path, reason);
  }
}

function prepare(database: DatabaseSync, schema: string, path: string): void {
  // One process per file: a log has one writer.
  database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA busy_timeout = 0");
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  const layout = Number(database.prepare("PRAGMA user_version").get()?.user_version);
  if (layout > LAYOUT) {
    throw new DevtoolError(
      `${JSON.stringify(path)} was written by a newer release (layout ${layout}): this one reads up to ${LAYOUT}`,
      Code.FailedPrecondition,
    );
  }
  database.exec("BEGIN IMMEDIATE");
  database.exec(schema);
  migrate(database, layout);
  database.exec(`PRAGMA user_version = ${LAYOUT}`);
  database.exec("COMMIT");
}

function openError(path: string, reason: unknown): DevtoolError {
  if (reason instanceof DevtoolError) return reason;
  const code = sqliteCode(reason);
  const file = JSON.stringify(path);
  const problem =
    code === SQLITE_BUSY || code === SQLITE_LOCKED
      ? `${file} is in use by another server: stop it, or choose another data directory`
      : code === SQLITE_CORRUPT || code === SQLITE_NOTADB
        ? `${file} is damaged: restore it from a backup, or move it away to start anew`
        : `${file} cannot be opened: check that the directory exists and can be written`;
  return new DevtoolError(problem, Code.FailedPrecondition, { cause: reason });
}

const SQLITE_BUSY = 5;
const SQLITE_LOCKED = 6;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_NOTADB = 26;

/** Tells whether a write failed for want of space. */
export function isDiskFull(reason: unknown): boolean {
  return sqliteCode(reason) === SQLITE_FULL;
}

/** The primary result code of SQLite; undefined for another error. */
function sqliteCode(reason: unknown): number | undefined {
  if (!(reason instanceof Error) || !("errcode" in reason)) return undefined;
  return Number(reason.errcode) & 0xff;
}
