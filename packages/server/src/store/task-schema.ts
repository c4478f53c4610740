import { PUSH_SCHEMA } from "./sqlite-push-config-store.ts";

/**
 * The tables and indexes of the task store.
 *
 * A row of `event` holds the events of one append, or a part of a large append,
 * under the sequence of the last event. The table has row ids, so that rows are
 * written in the order in which they arrive, and only one index depends on
 * time. Both make 200 busy tasks write 50 % faster. For the same reason, a row
 * of `context` names the task that changed last but not when: it is written
 * only when another task of the context becomes the last one. What lists show
 * of a task is in `label`, which a task writes when it begins and when it is
 * renamed. The title as `foldTitle` gives it is `title_key` of `task`, so that a
 * list that asks for a title or a state reads the index of time alone. A long
 * task has its head in `task_head`. What audit records
 * show is in `audit_shown`, under its digest, and goes with its task. The ids of
 * messages of deleted tasks are in `deleted_message` for a day. A large task
 * that is deleted is in `deleted_task` until its rows have been removed.
 */
export const TASK_SCHEMA: string = `
  CREATE TABLE IF NOT EXISTS task (
    id TEXT PRIMARY KEY, context_id TEXT NOT NULL, principal TEXT NOT NULL,
    state INTEGER NOT NULL, time_ms INTEGER NOT NULL, sequence INTEGER NOT NULL,
    messages INTEGER NOT NULL DEFAULT 1, bytes INTEGER NOT NULL DEFAULT 0, title_key TEXT NOT NULL DEFAULT ''
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS task_by_context ON task (context_id);
  CREATE INDEX IF NOT EXISTS task_by_state ON task (state);
  CREATE TABLE IF NOT EXISTS label (
    task_id TEXT PRIMARY KEY, title TEXT NOT NULL, workspace TEXT NOT NULL, agent TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS label_by_workspace ON label (workspace);
  CREATE INDEX IF NOT EXISTS label_by_agent ON label (agent);
  CREATE TABLE IF NOT EXISTS context (
    principal TEXT NOT NULL, id TEXT NOT NULL, task_id TEXT NOT NULL,
    PRIMARY KEY (principal, id)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS event (
    task_id TEXT NOT NULL, sequence INTEGER NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (task_id, sequence)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS task_head (
    task_id TEXT PRIMARY KEY, sequence INTEGER NOT NULL, data BLOB NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS message (
    principal TEXT NOT NULL, message_id TEXT NOT NULL, task_id TEXT NOT NULL, sequence INTEGER NOT NULL,
    PRIMARY KEY (principal, message_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS message_by_task ON message (task_id);
  CREATE TABLE IF NOT EXISTS deleted_message (
    principal TEXT NOT NULL, message_id TEXT NOT NULL, task_id TEXT NOT NULL, time_ms INTEGER NOT NULL,
    PRIMARY KEY (principal, message_id)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS deleted_task (task_id TEXT PRIMARY KEY, time_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS audit (number INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS audit_shown (
    task_id TEXT NOT NULL, digest BLOB NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (task_id, digest)
  ) STRICT;
  ${PUSH_SCHEMA}
`;

/** The index of columns that files of older layouts get when they are migrated. */
export const TIME_INDEX =
  "CREATE INDEX IF NOT EXISTS task_in_time ON task (principal, time_ms DESC, id DESC, state, title_key)";
