import { DatabaseSync } from "node:sqlite";
import { verifyAudit } from "@devtool/server";
import { SqliteTaskStore } from "@devtool/server/store";
import { TASK_SCHEMA } from "@devtool/server/testing";

/** The bytes of a record after one of them was changed. */
export interface ByteFlip {
  readonly number: number;
  readonly at: number;
  readonly data: Uint8Array;
}

/**
 * Every byte of every record of a file, each changed once: by one bit, another
 * one for each byte.
 */
export function byteFlips(path: string): ByteFlip[] {
  using database = new DatabaseSync(path, { readOnly: true });
  return database
    .prepare("SELECT number, data FROM audit ORDER BY number")
    .all()
    .flatMap(({ number, data }) => {
      const bytes = data instanceof Uint8Array ? data : new Uint8Array();
      return Array.from(bytes, (_, at) => ({
        number: Number(number),
        at,
        data: bytes.map((byte, index) =>
          index === at ? byte ^ (1 << (at % 8)) : byte,
        ),
      }));
    });
}

/**
 * Changes a copy of the audit log of a file, and returns whether a check
 * reports it or the store refuses it.
 */
export async function changedBy(
  path: string,
  change: (database: DatabaseSync) => unknown,
): Promise<boolean> {
  const copy = new DatabaseSync(":memory:");
  copy.exec(TASK_SCHEMA);
  copy.prepare("ATTACH DATABASE ? AS original").run(path);
  copy.exec(
    "INSERT INTO audit SELECT * FROM original.audit; INSERT INTO audit_shown SELECT * FROM original.audit_shown",
  );
  copy.exec("DETACH DATABASE original");
  change(copy);
  try {
    await using store = new SqliteTaskStore(copy);
    return (await verifyAudit(store.readAudit(0n))).fault !== undefined;
  } catch (reason) {
    if (
      reason instanceof Error &&
      reason.message.startsWith("the audit log holds a row")
    ) {
      return true;
    }
    throw reason;
  }
}
