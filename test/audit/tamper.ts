import { DatabaseSync } from "node:sqlite";
import { create } from "@bufbuild/protobuf";
import { confirmationPart, pendingToolCalls } from "@devtool/client";
import {
  emptyTask,
  MessageSchema,
  Role,
  reduceTask,
  type Task,
  type TaskEvent,
  TaskState,
} from "@devtool/schema";
import { SqliteTaskStore } from "@devtool/server/store";
import {
  answeredCalls,
  Conversation,
  callEntries,
  decodeRow,
  EventLog,
  encodeRow,
} from "@devtool/server/testing";

/**
 * Approves all that a task asks, in the file of a server that does not run: as
 * one that was killed right after it took the answer.
 */
export async function approveInFile(
  path: string,
  taskId: string,
): Promise<void> {
  await using store = await SqliteTaskStore.open(path);
  const events = await Array.fromAsync(store.readEvents(taskId, 0n));
  const task: Task = events.reduce(reduceTask, emptyTask());
  const message = create(MessageSchema, {
    messageId: `approval of ${taskId}`,
    role: Role.USER,
    parts: pendingToolCalls(task).map((call) =>
      confirmationPart(call, "proceed_once"),
    ),
  });
  const log = new EventLog({
    store,
    task,
    conversation: new Conversation(),
    now: () => new Date(),
  });
  await log.append([
    { state: TaskState.WORKING, payload: { case: "message", value: message } },
    ...callEntries(task, answeredCalls(task, message)),
  ]);
}

/** Changes the events of a task in the file of a server that does not run. */
export function rewriteEvents(
  path: string,
  taskId: string,
  change: (event: TaskEvent) => TaskEvent,
): void {
  using database = new DatabaseSync(path);
  const update = database.prepare(
    "UPDATE event SET data = ? WHERE task_id = ? AND sequence = ?",
  );
  for (const { sequence, data } of database
    .prepare("SELECT * FROM event WHERE task_id = ?")
    .all(taskId)) {
    update.run(encodeRow(decodeRow(data).map(change)), taskId, sequence ?? 0);
  }
}
