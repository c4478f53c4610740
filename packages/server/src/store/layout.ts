import type { DatabaseSync } from "node:sqlite";
import { BinaryWriter, sizeDelimitedPeek, WireType } from "@bufbuild/protobuf/wire";
import { EventRowSchema } from "@devtool/schema";

/**
 * The version of the file's layout that this release reads and writes.
 *
 * In layout 1, a row of `event` held length-prefixed events instead of an `EventRow`. In layout 2, there
 * was no table `context`.
 */
export const LAYOUT = 3;

/** The number of rows to rewrite at a time. */
const PAGE = 256;

/** Converts the rows of a file from an older layout to the current one. Must be called in a transaction, after the tables were created. */
export function migrate(database: DatabaseSync, layout: number): void {
  if (layout === 1) tagRows(database);
  if (layout !== 1 && layout !== 2) return;
  // The latest task of each context: later rows replace earlier ones.
  database.exec(
    `INSERT OR REPLACE INTO context (principal, id, task_id)
     SELECT principal, context_id, id FROM task ORDER BY time_ms, id`,
  );
}

/** Rewrites all rows of layout 1. */
function tagRows(database: DatabaseSync): void {
  const read = database.prepare("SELECT rowid AS row, data FROM event WHERE rowid > ? ORDER BY rowid LIMIT ?");
  const write = database.prepare("UPDATE event SET data = ? WHERE rowid = ?");
  let position = 0;
  for (;;) {
    const rows = read.all(position, PAGE);
    for (const { row, data } of rows) if (data instanceof Uint8Array) write.run(taggedEvents(data), Number(row));
    if (rows.length < PAGE) return;
    position = Number(rows.at(-1)?.row);
  }
}

/** Converts a row of layout 1 to an `EventRow`, which has a tag before each length. Leaves a damaged row as it is. */
function taggedEvents(data: Uint8Array): Uint8Array {
  const writer = new BinaryWriter();
  for (let start = 0; start < data.length; ) {
    const { eof, offset, size } = sizeDelimitedPeek(data.subarray(start));
    if (eof) return data;
    const end = start + offset + size;
    if (end > data.length) return data;
    writer.tag(EventRowSchema.field.events.number, WireType.LengthDelimited).raw(data.subarray(start, end));
    start = end;
  }
  return writer.finish();
}
