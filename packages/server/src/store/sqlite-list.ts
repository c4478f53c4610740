import type { DatabaseSync, SQLInputValue, SQLOutputValue } from "node:sqlite";
import { foldTitle } from "@devtool/internal/title-text";
import { decodeCursor } from "./list-position.ts";
import type { TaskQuery } from "./task-store.ts";

/**
 * Reads the rows of the tasks that a query selects, the latest first, and one
 * more than its limit.
 */
export function readList(
  database: DatabaseSync,
  query: TaskQuery,
): Record<string, SQLOutputValue>[] {
  const {
    principal,
    contextId,
    state,
    agent,
    workspacePath,
    titleContains,
    idPrefix,
    limit,
    cursor,
  } = query;
  const titleKey = titleContains && foldTitle(titleContains);
  const titled = titleKey ? findTitles(database, titleKey) : undefined;
  // The plus keeps SQLite from using the index of the principal's tasks where
  // another one has few of them.
  const isNarrow =
    titled !== undefined ||
    contextId !== undefined ||
    (idPrefix?.length ?? 0) >= NARROW_PREFIX ||
    (state !== undefined && isRare(database, state));
  const filters = new Filters()
    .add(isNarrow ? "+task.principal = ?" : "task.principal = ?", principal)
    .add("task.context_id = ?", contextId)
    .add("task.state = ?", state)
    .add("label.agent = ?", agent)
    .add("label.workspace = ?", workspacePath)
    .add("instr(label.title_key, ?) > 0", titled ? undefined : titleKey)
    .add("task.id IN (SELECT value FROM json_each(?))", titled)
    .add("task.id >= ?", idPrefix)
    .add("substr(task.id, 1, length(?)) = ?", idPrefix, idPrefix)
    .add("task.id < ?", idPrefix && `${idPrefix}${LAST}`);
  if (cursor !== undefined) {
    const { timeMs, taskId } = decodeCursor(cursor);
    filters.add("(task.time_ms, task.id) < (?, ?)", timeMs, taskId);
  }
  const where =
    filters.conditions.length > 0
      ? `WHERE ${filters.conditions.join(" AND ")}`
      : "";
  return database
    .prepare(
      // Selects the tasks before it joins their events. Otherwise the events of
      // all matching tasks would be read.
      `SELECT event.data, task.* FROM
         (SELECT task.id, principal, context_id, state, sequence, time_ms, messages, title, workspace, agent
          FROM task LEFT JOIN label ON label.task_id = task.id
          ${where} ORDER BY time_ms DESC, task.id DESC LIMIT ?) AS task
       LEFT JOIN event ON event.task_id = task.id AND event.sequence = task.sequence
       ORDER BY task.time_ms DESC, task.id DESC`,
    )
    .all(...filters.values, limit + 1);
}

/**
 * The length of a prefix of ids from which few tasks are expected to have it.
 */
const NARROW_PREFIX = 3;

/** Comes after all that ids have after a prefix. */
const LAST = "\u{10FFFF}".repeat(8);

/** The number of tasks up to which a state or a title is rare. */
const RARE = 1000;

/**
 * Whether few tasks are in a state, so that it is faster to sort them than to
 * look for them in the order of time.
 */
function isRare(database: DatabaseSync, state: number): boolean {
  const sql =
    "SELECT count(*) AS count FROM (SELECT 1 FROM task WHERE state = ? LIMIT ?)";
  return Number(database.prepare(sql).get(state, RARE)?.count) < RARE;
}

/**
 * Finds the tasks whose titles contain a text, which reads the index of titles.
 * Returns their ids as a JSON array; undefined where many have it, so that it is
 * faster to look for them in the order of time.
 */
function findTitles(
  database: DatabaseSync,
  titleKey: string,
): string | undefined {
  const rows = database
    .prepare("SELECT task_id FROM label WHERE instr(title_key, ?) > 0 LIMIT ?")
    .all(titleKey, RARE);
  return rows.length < RARE
    ? JSON.stringify(rows.map(({ task_id }) => task_id))
    : undefined;
}

/** Collects the conditions of an SQL query that apply, with their values. */
class Filters {
  readonly values: SQLInputValue[] = [];
  readonly conditions: string[] = [];

  /** Adds a condition, unless one of its values is undefined. */
  add(
    condition: string,
    ...values: readonly (SQLInputValue | undefined)[]
  ): this {
    const given = values.filter((value) => value !== undefined);
    if (given.length < values.length) return this;
    this.conditions.push(condition);
    this.values.push(...given);
    return this;
  }
}
