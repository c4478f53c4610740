import { foldTitle } from "@devtool/schema";
import { labelInRow } from "@devtool/server/store";
import type { ClientBase } from "pg";
import { keyText } from "./key-text.ts";

/** The number of tasks to label at a time. Each has its first row in memory. */
const PAGE = 64;

/**
 * Labels all tasks, from their first events. Leaves out a task whose first row
 * is damaged.
 */
export async function labelTasks(client: ClientBase): Promise<void> {
  let position = "";
  for (;;) {
    const { rows } = await client.query<{ id: string; data: unknown }>(
      `SELECT id, (SELECT data FROM event WHERE task_id = id ORDER BY sequence LIMIT 1) AS data
        FROM task WHERE id > $1 ORDER BY id LIMIT ${PAGE}`,
      [position],
    );
    for (const { id, data } of rows) {
      const label = labelInRow(data);
      if (!label) continue;
      const { title, workspacePath, agent } = label;
      await client.query(
        "INSERT INTO label (task_id, title, title_key, workspace, agent) VALUES ($1, $2, $3, $4, $5)",
        [id, title, ...[foldTitle(title), workspacePath, agent].map(keyText)],
      );
    }
    if (rows.length < PAGE) return;
    position = rows.at(-1)?.id ?? "";
  }
}
