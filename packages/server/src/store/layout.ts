import type { DatabaseSync } from "node:sqlite";
import { BinaryWriter, sizeDelimitedPeek, WireType } from "@bufbuild/protobuf/wire";
import { EventRowSchema } from "@devtool/schema";

/**
 * The layout of the file that this release reads and writes. In layout 1 a row was its events, each behind its size; in
 * layout 2 there was no table `context`.
 */
export const LAYOUT = 3;

/** So many rows are rewritten at a time. */
const PAGE = 256;

/** Brings the rows of a file that has the tables of an older layout to this one. To be called in a transaction. */
export function migrate(database: DatabaseSync, layout: number): void {
  if (layout === 1) tagRows(database);
  if (layout === 1 || layout === 2) fillContexts(database);
}

/** Notes which task of each context changed last. */
function fillContexts(database: DatabaseSync): void {
  database.exec(
    `INSERT OR REPLACE INTO context (principal, id, task_id)
     SELECT principal, context_id, id FROM task ORDER BY time_ms, id`,
  );
}

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

/** A row of layout 1 as an `EventRow`: the same with a tag before each size. One that is damaged stays as it is. */
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
