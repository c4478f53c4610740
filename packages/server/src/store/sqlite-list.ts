import type { DatabaseSync, SQLInputValue, SQLOutputValue } from "node:sqlite";
import { foldTitle } from "@devtool/internal/title-text";
import { comparePositions, decodeCursor } from "./list-position.ts";
import type { TaskQuery } from "./task-store.ts";

type Row = Record<string, SQLOutputValue>;

/**
 * Reads the rows of the tasks that a query selects, the latest first, and one
 * more than its limit.
 */
export function readList(database: DatabaseSync, query: TaskQuery): Row[] {
  const isNarrow = selectsFew(database, query);
  return query.principal === undefined && !isNarrow
    ? readOfAll(database, query)
    : readRows(database, query, isNarrow);
}

/**
 * Reads the tasks of all principals, each of which has its own in order.
 *
 * An index of all tasks by time would cost each append a page.
 */
function readOfAll(database: DatabaseSync, query: TaskQuery): Row[] {
  // A store without principals refuses what is no cursor, too.
  if (query.cursor !== undefined) decodeCursor(query.cursor);
  const count = query.limit + 1;
  let rows: Row[] = [];
  for (const { principal, time_ms } of database.prepare(PRINCIPALS).all()) {
    const oldest = rows[count - 1];
    if (oldest && Number(oldest.time_ms) > Number(time_ms)) break;
    const own = { ...query, principal: String(principal) };
    rows = [...rows, ...readRows(database, own, false)]
      .sort((a, b) => comparePositions(positionOf(a), positionOf(b)))
      .slice(0, count);
  }
  return rows;
}

/** Selects all principals, with when a task of theirs changed last. */
const PRINCIPALS = `
  WITH RECURSIVE known (principal) AS (
    SELECT min(principal) FROM task
    UNION ALL
    SELECT (SELECT min(principal) FROM task WHERE task.principal > known.principal)
    FROM known WHERE known.principal IS NOT NULL)
  SELECT principal,
    (SELECT time_ms FROM task WHERE task.principal = known.principal ORDER BY time_ms DESC LIMIT 1) AS time_ms
  FROM known WHERE principal IS NOT NULL ORDER BY time_ms DESC`;

function positionOf({ time_ms, id }: Row) {
  return { timeMs: Number(time_ms), taskId: String(id) };
}

/**
 * Reads the rows of `readList` by one statement.
 *
 * @param isNarrow whether few tasks are expected, which are found before they
 * are sorted
 */
export function readRows(
  database: DatabaseSync,
  query: TaskQuery,
  isNarrow: boolean,
): Row[] {
  const { contextId, state, agent, workspacePath, idPrefix } = query;
  const titleKey = query.titleContains && foldTitle(query.titleContains);
  const labeled = "task.id IN (SELECT task_id FROM label WHERE";
  const filters = new Filters()
    // The plus keeps SQLite from using the index of the principal's tasks where
    // another one has few of them.
    .add(isNarrow ? "+principal = ?" : "principal = ?", query.principal)
    .add("context_id = ?", contextId)
    .add("state = ?", state)
    .add(`${labeled} agent = ?)`, isNarrow ? agent : undefined)
    .add(`${labeled} workspace = ?)`, isNarrow ? workspacePath : undefined)
    .add("label.agent = ?", isNarrow ? undefined : agent)
    .add("label.workspace = ?", isNarrow ? undefined : workspacePath)
    .add("instr(title_key, ?) > 0", titleKey || undefined)
    .add("id >= ?", idPrefix)
    .add("substr(id, 1, length(?)) = ?", idPrefix, idPrefix)
    .add("id < ?", idPrefix && `${idPrefix}${LAST}`);
  if (query.cursor !== undefined) {
    const { timeMs, taskId } = decodeCursor(query.cursor);
    filters.add("(time_ms, id) < (?, ?)", timeMs, taskId);
  }
  const where =
    filters.conditions.length > 0
      ? `WHERE ${filters.conditions.join(" AND ")}`
      : "";
  const label = filters.conditions.some((each) => each.startsWith("label."))
    ? "LEFT JOIN label ON label.task_id = id"
    : "";
  return database
    .prepare(
      // Selects the tasks, by one index if it has all that is asked, before it
      // reads them with their labels and last events.
      `SELECT event.data, task.id, principal, context_id, state, task.sequence, task.time_ms, messages, title, workspace, agent
       FROM (SELECT id FROM task ${label} ${where} ORDER BY time_ms DESC, id DESC LIMIT ?) AS found
       CROSS JOIN task ON task.id = found.id
       LEFT JOIN label ON label.task_id = task.id
       LEFT JOIN event ON event.task_id = task.id AND event.sequence = task.sequence
       ORDER BY task.time_ms DESC, task.id DESC`,
    )
    .all(...filters.values, query.limit + 1);
}

/**
 * The length of a prefix of ids from which few tasks are expected to have it.
 */
const NARROW_PREFIX = 3;

/** Comes after all that ids have after a prefix. */
const LAST = "\u{10FFFF}".repeat(8);

/**
 * The number of tasks up to which it is faster to sort them than to look for
 * them in the order of time.
 */
const FEW = 1000;

/** Whether an index shows that a query selects few tasks. */
function selectsFew(
  database: DatabaseSync,
  { contextId, idPrefix = "", state, agent, workspacePath }: TaskQuery,
): boolean {
  if (contextId !== undefined || idPrefix.length >= NARROW_PREFIX) return true;
  const hasFew = (rows: string, value: SQLInputValue | undefined): boolean => {
    if (value === undefined) return false;
    const sql = `SELECT count(*) AS count FROM (SELECT 1 FROM ${rows} = ? LIMIT ?)`;
    return Number(database.prepare(sql).get(value, FEW)?.count) < FEW;
  };
  return (
    hasFew("task WHERE state", state) ||
    hasFew("label WHERE workspace", workspacePath) ||
    hasFew("label WHERE agent", agent)
  );
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
