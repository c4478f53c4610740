import { foldTitle } from "@devtool/internal/title-text";
import type { TaskState } from "@devtool/schema";
import type { decodeCursor, TaskQuery } from "@devtool/server/store";
import type { QueryConfig } from "pg";
import { keyText } from "./key-text.ts";
import { bounded } from "./stored-value.ts";
import { searchGrams } from "./title-grams.ts";

/**
 * The number of tasks up to which it is faster to sort those with a title than
 * to look for them in the order of time.
 */
export const RARE = 1000;

/** Creates the statement that finds up to `RARE` tasks by their titles. */
export function titleStatement(titleContains: string): QueryConfig {
  const key = foldTitle(titleContains);
  return {
    text: "SELECT task_id FROM label WHERE grams @> $1::integer[] AND strpos(title_key, $2) > 0 LIMIT $3",
    values: [searchGrams(key), keyText(key), RARE],
  };
}

/** The number of tasks to read at a time without their events. */
export const SIZES_PAGE = 1000;

/**
 * Creates the statement that reads a page of tasks without their events.
 *
 * @param after the id after which the page begins, encoded
 * @param states empty for all states
 */
export function sizesStatement(
  after: string,
  states: readonly TaskState[],
): QueryConfig {
  // As numbers in the text, by which PostgreSQL finds its index of them.
  const among =
    states.length > 0 ? `AND state IN (${states.map(Number).join()})` : "";
  return {
    text: `SELECT id, context_id, principal, state, sequence, time_ms, bytes FROM task
      WHERE id > $1 ${among} ORDER BY id LIMIT ${SIZES_PAGE}`,
    values: [after],
  };
}

/**
 * Creates the statement that reads the last rows of the tasks that a query
 * selects, the latest first, and one more than its limit.
 *
 * @param after where the page before ended
 * @param among the ids of the tasks to select from, encoded. Default: all
 */
export function listStatement(
  query: TaskQuery,
  after: ReturnType<typeof decodeCursor> | undefined,
  among: readonly string[] | undefined,
): QueryConfig {
  const {
    principal,
    contextId,
    state,
    agent,
    workspacePath,
    titleContains,
    idPrefix,
  } = query;
  const selected: readonly (readonly [condition: string, value: unknown])[] = [
    ["principal = $?", principal && keyText(principal)],
    ["context_id = $?", contextId && keyText(contextId)],
    ["state = $?", state],
    ["agent = $?", agent && keyText(agent)],
    ["workspace = $?", workspacePath && keyText(workspacePath)],
    [
      "strpos(title_key, $?) > 0",
      titleContains && keyText(foldTitle(titleContains)),
    ],
    ["starts_with(id, $?)", idPrefix && keyText(idPrefix)],
    ["id = ANY ($?)", among],
  ];
  const values: unknown[] = [];
  /** Adds a value to the statement and returns its placeholder. */
  const place = (value: unknown): string => `$${values.push(value)}`;
  const conditions: string[] = [];
  for (const [condition, value] of selected) {
    if (value !== undefined) {
      conditions.push(condition.replace("$?", () => place(value)));
    }
  }
  if (after) {
    conditions.push(
      `(time_ms, id) < (${place(after.timeMs)}, ${place(keyText(after.taskId))})`,
    );
  }
  const where =
    conditions.length > 0 ? `WHERE ${conditions.join(" AND ")}` : "";
  return {
    // Selects the tasks before it joins their events. Otherwise the events of
    // all matching tasks would be read.
    text: `SELECT ${bounded("event.data")} AS data, task.id, task.principal, task.context_id, task.state, task.time_ms, task.sequence, task.messages,
        ${bounded("task.title")} AS title, ${bounded("task.workspace")} AS workspace, ${bounded("task.agent")} AS agent FROM
        (SELECT id, principal, context_id, state, sequence, time_ms, messages, title, workspace, agent
          FROM task LEFT JOIN label ON label.task_id = id
          ${where} ORDER BY time_ms DESC, id DESC LIMIT ${place(query.limit + 1)}) AS task
      LEFT JOIN event ON event.task_id = task.id AND event.sequence = task.sequence
      ORDER BY task.time_ms DESC, task.id DESC`,
    values,
  };
}
