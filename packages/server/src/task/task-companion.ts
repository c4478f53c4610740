import type { TaskSession } from "./task-session.ts";

/** Work of a server for its open tasks, beside that of their agents. */
export interface TaskCompanion {
  /** Called when a task that exists was opened, under the session's lease. */
  opened(session: TaskSession): void;
  /** Whether something is left to do for a task, so that it stays open. */
  isBusy(taskId: string): boolean;
  /** Called when a task is about to be closed. */
  closing(taskId: string): void;
}
