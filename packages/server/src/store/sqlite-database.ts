import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { failpoint } from "@devtool/internal/failpoint";
import { Code, DevtoolError } from "../errors.ts";
import { LAYOUT, migrate } from "./layout.ts";

/**
 * Opens a SQLite file for this process alone, creates missing tables and
 * converts an older layout.
 *
 * `schema` is the SQL that creates the tables. The layout is the file's format
 * version (`LAYOUT`), kept in `user_version`. Throws `Code.FailedPrecondition`
 * with the file's name when the file is damaged, was written by a newer
 * release, or is in use by another process.
 */
export async function openDatabase(
  path: string,
  schema: string,
): Promise<DatabaseSync> {
  const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path);
    failpoint("devtool:store.open.before");
    // A task's log has one writer. An exclusive lock keeps other processes out
    // of the file.
    database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA busy_timeout = 0");
    database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    // What is deleted is overwritten in the file.
    database.exec("PRAGMA secure_delete = ON");
    const layout = Number(
      database.prepare("PRAGMA user_version").get()?.user_version,
    );
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
    failpoint("devtool:store.layout.before");
    database.exec("COMMIT");
    failpoint("devtool:store.layout.after");
    return database;
  } catch (reason) {
    database?.close();
    throw openError(path, reason);
  }
}

function openError(path: string, reason: unknown): DevtoolError {
  if (reason instanceof DevtoolError) return reason;
  const code = sqliteCode(reason);
  const file = JSON.stringify(path);
  const [problem, remedy] =
    code === SQLITE_BUSY || code === SQLITE_LOCKED
      ? [
          "is in use by another server",
          "stop it, or choose another data directory",
        ]
      : code === SQLITE_CORRUPT || code === SQLITE_NOTADB
        ? [
            "is damaged",
            "restore it from a backup, or move it away to start with an empty store",
          ]
        : [
            "cannot be opened",
            "check that the directory exists and can be written",
          ];
  return new DevtoolError(`${file} ${problem}`, Code.FailedPrecondition, {
    remedy,
    cause: reason,
  });
}

const SQLITE_BUSY = 5;
const SQLITE_LOCKED = 6;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_NOTADB = 26;

/** Converts the error of a failed write. */
export function storeError(reason: unknown): DevtoolError {
  if (sqliteCode(reason) === SQLITE_FULL) return diskFull(reason);
  return new DevtoolError("the store cannot write", Code.Unavailable, {
    remedy: "the server's log says more",
    cause: reason,
  });
}

/**
 * Creates the error for a full disk. It has no details, because no field of a
 * request is at fault.
 */
export function diskFull(cause: unknown): DevtoolError {
  return new DevtoolError("the disk is full", Code.ResourceExhausted, {
    remedy: "free some space and try again",
    cause,
  });
}

/**
 * Returns the primary result code of an error of SQLite. Undefined for any
 * other error.
 */
function sqliteCode(reason: unknown): number | undefined {
  if (!(reason instanceof Error) || !("errcode" in reason)) return undefined;
  return Number(reason.errcode) & 0xff;
}

/**
 * The free space in bytes below which a disk counts as full, because an append
 * may need that much.
 */
const MIN_FREE_BYTES = 1024 * 1024;

/**
 * Checks that a database can be written: the disk has room for an append, and a
 * transaction that changes nothing reaches it. Throws `Code.ResourceExhausted`
 * when the disk is full, and `Code.Unavailable` when the database cannot be
 * written for another reason.
 */
export async function assertWritable(database: DatabaseSync): Promise<void> {
  const file = database.prepare("PRAGMA database_list").get()?.file;
  if (typeof file !== "string" || file === "") return;
  const { bavail, bsize } = await statfs(dirname(file));
  if (bavail * bsize < MIN_FREE_BYTES) throw diskFull(undefined);
  try {
    failpoint("devtool:store.probe.before");
    database.exec(`BEGIN IMMEDIATE; PRAGMA user_version = ${LAYOUT}; COMMIT`);
    failpoint("devtool:store.probe.after");
  } catch (reason) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw storeError(reason);
  }
}
