import type { ListPosition, TaskQuery } from "@devtool/server/store";
import type { QueryConfig } from "pg";
import { keyText } from "./key-text.ts";

/**
 * Creates the statement that reads the last rows of the tasks that a query selects, the latest first, and one more than its limit.
 *
 * @param after where the page before ended
 */
export function listStatement(query: TaskQuery, after: ListPosition | undefined): QueryConfig {
  const values: unknown[] = [];
  const place = (value: unknown): string => `$${values.push(value)}`;
  const conditions: string[] = [];
  if (query.principal !== undefined) conditions.push(`principal = ${place(keyText(query.principal))}`);
  if (query.contextId !== undefined) conditions.push(`context_id = ${place(keyText(query.contextId))}`);
  if (query.state !== undefined) conditions.push(`state = ${place(query.state)}`);
  if (after) conditions.push(`(time_ms, id) < (${place(after.timeMs)}, ${place(keyText(after.taskId))})`);
  const where = conditions.length > 0 ? `WHERE ${conditions.join(" AND ")}` : "";
  return {
    // Selects the tasks before it joins their events. Otherwise the events of all matching tasks would be read.
    text: `SELECT event.data FROM
        (SELECT id, sequence, time_ms FROM task ${where} ORDER BY time_ms DESC, id DESC LIMIT ${place(query.limit + 1)}) AS task
      JOIN event ON event.task_id = task.id AND event.sequence = task.sequence
      ORDER BY task.time_ms DESC, task.id DESC`,
    values,
  };
}
