import { foldTitle } from "@devtool/schema";
import type { ListPosition, TaskQuery } from "@devtool/server/store";
import type { QueryConfig } from "pg";
import { keyText } from "./key-text.ts";
import { bounded } from "./stored-value.ts";

/**
 * Creates the statement that reads the last rows of the tasks that a query selects, the latest first, and one more than its limit.
 *
 * @param after where the page before ended
 */
export function listStatement(query: TaskQuery, after: ListPosition | undefined): QueryConfig {
  const values: unknown[] = [];
  const place = (value: unknown): string => `$${values.push(value)}`;
  const conditions: string[] = [];
  const select = (condition: (place: string) => string, value: unknown): void => {
    if (value !== undefined) conditions.push(condition(place(value)));
  };
  const { principal, contextId, state, agent, workspacePath, titleContains, idPrefix } = query;
  select((value) => `principal = ${value}`, keyOf(principal));
  select((value) => `context_id = ${value}`, keyOf(contextId));
  select((value) => `state = ${value}`, state);
  select((value) => `agent = ${value}`, keyOf(agent));
  select((value) => `workspace = ${value}`, keyOf(workspacePath));
  select((value) => `strpos(title_key, ${value}) > 0`, keyOf(titleContains && foldTitle(titleContains)));
  select((value) => `starts_with(id, ${value})`, keyOf(idPrefix));
  if (after) conditions.push(`(time_ms, id) < (${place(after.timeMs)}, ${place(keyText(after.taskId))})`);
  const where = conditions.length > 0 ? `WHERE ${conditions.join(" AND ")}` : "";
  return {
    // Selects the tasks before it joins their events. Otherwise the events of all matching tasks would be read.
    text: `SELECT ${bounded("event.data")} AS data, ${bounded("task.title")} AS title,
        ${bounded("task.workspace")} AS workspace, ${bounded("task.agent")} AS agent FROM
        (SELECT id, sequence, time_ms, title, workspace, agent FROM task LEFT JOIN label ON label.task_id = id
          ${where} ORDER BY time_ms DESC, id DESC LIMIT ${place(query.limit + 1)}) AS task
      JOIN event ON event.task_id = task.id AND event.sequence = task.sequence
      ORDER BY task.time_ms DESC, task.id DESC`,
    values,
  };
}

function keyOf(text: string | undefined): string | undefined {
  return text === undefined ? undefined : keyText(text);
}
