import type { DatabaseSync } from "node:sqlite";
import {
  BinaryWriter,
  sizeDelimitedPeek,
  WireType,
} from "@bufbuild/protobuf/wire";
import { foldTitle } from "@devtool/internal/title-text";
import { EventRowSchema } from "@devtool/schema";
import { createRechain, decodeRecord, detachShown } from "./audit-chain.ts";
import { decodeRow } from "./event-row.ts";
import { labelOfEvents } from "./task-label.ts";
import { TIME_INDEX } from "./task-schema.ts";
import { labelRow, PUT_LABEL, PUT_SHOWN } from "./task-statements.ts";
import type { TaskLabel } from "./task-store.ts";

/**
 * The version of the file's layout that this release reads and writes.
 *
 * In layout 1, a row of `event` held length-prefixed events instead of an
 * `EventRow`. In layout 2, there was no table `context`. In layout 3, there was
 * no table `label`. In layout 4, `task` had no column `messages`. In layout 5, the
 * rows of `audit` held what they show, and the chain covered it. In layout 6,
 * `task` had no column `bytes`. In layout 7, there was no table `task_head`. In
 * layout 8, `title_key` was a column of `label`, with an index of its own.
 */
export const LAYOUT = 9;

/** The number of rows to rewrite at a time. */
const PAGE = 256;

/**
 * Converts the rows of a file from an older layout to the current one. Must be
 * called in a transaction, after the tables were created.
 */
export function migrate(database: DatabaseSync, layout: number): void {
  if (layout === 1) tagRows(database);
  // The latest task of each context: later rows replace earlier ones.
  if (layout === 1 || layout === 2) {
    database.exec(
      `INSERT OR REPLACE INTO context (principal, id, task_id)
       SELECT principal, context_id, id FROM task ORDER BY time_ms, id`,
    );
  }
  if (layout >= 1 && layout <= 4) {
    // Counts the ids of later messages, 200,000 in 0.2 s. To read the logs would
    // take a minute.
    database.exec(
      `ALTER TABLE task ADD COLUMN messages INTEGER NOT NULL DEFAULT 1;
       UPDATE task SET messages = 1 + later.messages FROM
         (SELECT task_id, count(*) AS messages FROM message WHERE sequence > 1 GROUP BY task_id) AS later
       WHERE id = later.task_id`,
    );
  }
  if (layout >= 1 && layout <= 5) detachTexts(database);
  if (layout >= 1 && layout <= 6) {
    // The length of a row is in its head: large ones are not read.
    database.exec(
      `ALTER TABLE task ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
       UPDATE task SET bytes = (SELECT total(length(data)) FROM event WHERE task_id = task.id)`,
    );
  }
  if (layout >= 1 && layout <= 3) labelTasks(database);
  if (layout >= 1 && layout <= 8) moveTitles(database, layout);
  database.exec(TIME_INDEX);
}

/**
 * Labels all tasks, from their first events. Leaves out a task whose first row
 * is damaged.
 */
function labelTasks(database: DatabaseSync): void {
  const first = database.prepare(
    "SELECT data FROM event WHERE task_id = ? ORDER BY sequence LIMIT 1",
  );
  const put = database.prepare(PUT_LABEL);
  for (const { id } of database.prepare("SELECT id FROM task").all()) {
    const taskId = String(id);
    const label = labelInRow(first.get(taskId)?.data);
    if (label) put.run(...labelRow(taskId, label));
  }
}

/** Moves the titles as searches compare them to the tasks. */
function moveTitles(database: DatabaseSync, layout: number): void {
  database.function("fold_title", { deterministic: true }, (title) =>
    foldTitle(String(title ?? "")),
  );
  database.exec(
    `ALTER TABLE task ADD COLUMN title_key TEXT NOT NULL DEFAULT '';
     DROP INDEX IF EXISTS task_by_time;
     UPDATE task SET title_key = fold_title((SELECT title FROM label WHERE task_id = id));`,
  );
  if (layout <= 3) return;
  database.exec(
    "DROP INDEX IF EXISTS label_by_title; ALTER TABLE label DROP COLUMN title_key",
  );
}

/**
 * Returns the label that the first row of a task gives. Undefined for a damaged
 * row.
 */
export function labelInRow(data: unknown): TaskLabel | undefined {
  try {
    return labelOfEvents(decodeRow(data));
  } catch {
    return undefined;
  }
}

/**
 * Moves what audit records show out of the chain. Leaves the rows from the first
 * one on that is not valid.
 */
function detachTexts(database: DatabaseSync): void {
  const read = database.prepare(
    "SELECT CAST(number AS TEXT) AS number, data FROM audit WHERE audit.number > ? ORDER BY audit.number LIMIT ?",
  );
  const write = database.prepare("UPDATE audit SET data = ? WHERE number = ?");
  const put = database.prepare(PUT_SHOWN);
  const rechain = createRechain();
  let position = 0n;
  for (;;) {
    const rows = read.all(position, PAGE);
    for (const { number, data } of rows) {
      position = BigInt(String(number));
      const record = decodeRecord(data);
      const chained = record && rechain(record);
      if (!record || !chained) return;
      const { text } = detachShown(record);
      if (text) put.run(text.taskId, text.digest, text.data);
      write.run(chained.data, position);
    }
    if (rows.length < PAGE) return;
  }
}

/** Rewrites all rows of layout 1. */
function tagRows(database: DatabaseSync): void {
  const read = database.prepare(
    "SELECT rowid AS row, data FROM event WHERE rowid > ? ORDER BY rowid LIMIT ?",
  );
  const write = database.prepare("UPDATE event SET data = ? WHERE rowid = ?");
  let position = 0;
  for (;;) {
    const rows = read.all(position, PAGE);
    for (const { row, data } of rows) {
      if (data instanceof Uint8Array) {
        write.run(taggedEvents(data), Number(row));
      }
    }
    if (rows.length < PAGE) return;
    position = Number(rows.at(-1)?.row);
  }
}

/**
 * Converts a row of layout 1 to an `EventRow`, which has a tag before each
 * length. Leaves a damaged row as it is.
 */
function taggedEvents(data: Uint8Array): Uint8Array {
  const writer = new BinaryWriter();
  for (let start = 0; start < data.length; ) {
    const { eof, offset, size } = sizeDelimitedPeek(data.subarray(start));
    if (eof) return data;
    const end = start + offset + size;
    if (end > data.length) return data;
    writer
      .tag(EventRowSchema.field.events.number, WireType.LengthDelimited)
      .raw(data.subarray(start, end));
    start = end;
  }
  return writer.finish();
}
