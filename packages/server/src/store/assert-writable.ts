import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { failpoint } from "../failpoint.ts";
import { LAYOUT } from "./layout.ts";
import { diskFull, storeError } from "./sqlite-database.ts";

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
