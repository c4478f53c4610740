import type { DatabaseSync, SQLInputValue, SQLOutputValue } from "node:sqlite";
import { foldTitle } from "@devtool/internal/title-text";
import { decodeCursor } from "./list-position.ts";
import type { TaskQuery } from "./task-store.ts";

type Row = Record<string, SQLOutputValue>;

/**
 * Reads the rows of the tasks that a query selects, the latest first, and one
 * more than its limit.
 */
export function readList(database: DatabaseSync, query: TaskQuery): Row[] {
  return readRows(database, query, selectsFew(database, query));
}

/**
 * Reads the rows of `readList`.
 *
 * @param isNarrow whether few tasks are expected, which are found before they
 * are sorted
 */
export function readRows(
  database: DatabaseSync,
  query: TaskQuery,
  isNarrow: boolean,
): Row[] {
  const filters = filtersOf(query, isNarrow);
  const limit = filters.place(query.limit + 1);
  const found =
    query.principal === undefined && !isNarrow
      ? idsOfAll(filters, limit)
      : filters.ids([], limit);
  return database
    .prepare(
      // Selects the tasks, by one index if it has all that is asked, before it
      // reads them with their labels and last events.
      `SELECT event.data, task.id, principal, context_id, state, task.sequence, task.time_ms, messages, title, workspace, agent
       FROM (${found}) AS found
       CROSS JOIN task ON task.id = found.id
       LEFT JOIN label ON label.task_id = task.id
       LEFT JOIN event ON event.task_id = task.id AND event.sequence = task.sequence
       ORDER BY task.time_ms DESC, task.id DESC`,
    )
    .all(filters.values);
}

/**
 * Returns a query for the ids of the tasks of all principals, each of which has
 * its own in order: those that lead with their latest tasks have all of a page.
 *
 * An index of all tasks by time would cost each append a page.
 */
function idsOfAll(filters: Filters, limit: string): string {
  const ownOf = (table: string, count: string): string =>
    filters.ids([`principal = ${table}.principal`], count);
  return `
    WITH RECURSIVE known (principal) AS (
      SELECT min(principal) FROM task
      UNION ALL
      SELECT (SELECT min(principal) FROM task WHERE task.principal > known.principal)
      FROM known WHERE principal IS NOT NULL),
    leading (principal) AS (
      SELECT latest.principal
      FROM known CROSS JOIN task AS latest ON latest.id = (${ownOf("known", "1")})
      ORDER BY latest.time_ms DESC, latest.id DESC LIMIT ${limit})
    SELECT own.id FROM leading CROSS JOIN task AS own ON own.id IN (${ownOf("leading", limit)})
    ORDER BY own.time_ms DESC, own.id DESC LIMIT ${limit}`;
}

/** Returns the conditions on the tasks that a query selects. */
function filtersOf(query: TaskQuery, isNarrow: boolean): Filters {
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
  if (query.cursor === undefined) return filters;
  const { timeMs, taskId } = decodeCursor(query.cursor);
  return filters.add("(time_ms, id) < (?, ?)", timeMs, taskId);
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
  readonly values: Record<string, SQLInputValue> = {};
  readonly #conditions: string[] = [];

  /** Adds a value, and returns its placeholder, which may stand many times. */
  place(value: SQLInputValue): string {
    // By name: Node 22 does not take values for numbered placeholders.
    const name = `:v${Object.keys(this.values).length}`;
    this.values[name] = value;
    return name;
  }

  /** Adds a condition, unless one of its values is undefined. */
  add(
    condition: string,
    ...values: readonly (SQLInputValue | undefined)[]
  ): this {
    const given = values.filter((value) => value !== undefined);
    if (given.length < values.length) return this;
    const placed = given.values().map((value) => this.place(value));
    this.#conditions.push(
      condition.replaceAll("?", () => placed.next().value ?? ""),
    );
    return this;
  }

  /**
   * Returns a query for the ids of the tasks to which the conditions apply, and
   * more of them, the latest first.
   */
  ids(more: readonly string[], limit: string): string {
    const all = [...more, ...this.#conditions];
    const where = all.length > 0 ? `WHERE ${all.join(" AND ")}` : "";
    const label = all.some((each) => each.startsWith("label."))
      ? "LEFT JOIN label ON label.task_id = id"
      : "";
    return `SELECT id FROM task ${label} ${where} ORDER BY time_ms DESC, id DESC LIMIT ${limit}`;
  }
}
