import { PUSH_SCHEMA } from "./sqlite-push-config-store.ts";

/**
 * The tables and indexes that the store keeps its logs in. A row of `event` holds the events of one append, which were
 * one to their writer too, or a part of a large one, under the sequence of the last. Events lie in the order in which they came (so `event` has row
 * ids), and only one index moves with time: together they make 200 busy tasks write half as fast again. For the same reason a row of `context` names the task that
 * changed last, and not when: it is written when another task of the context takes over.
 */
export const TASK_SCHEMA: string = `
  CREATE TABLE IF NOT EXISTS task (
    id TEXT PRIMARY KEY, context_id TEXT NOT NULL, principal TEXT NOT NULL,
    state INTEGER NOT NULL, time_ms INTEGER NOT NULL, sequence INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS task_by_time ON task (principal, time_ms DESC, id DESC);
  CREATE INDEX IF NOT EXISTS task_by_context ON task (context_id);
  CREATE INDEX IF NOT EXISTS task_by_state ON task (state);
  CREATE TABLE IF NOT EXISTS context (
    principal TEXT NOT NULL, id TEXT NOT NULL, task_id TEXT NOT NULL,
    PRIMARY KEY (principal, id)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS event (
    task_id TEXT NOT NULL, sequence INTEGER NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (task_id, sequence)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS message (
    principal TEXT NOT NULL, message_id TEXT NOT NULL, task_id TEXT NOT NULL, sequence INTEGER NOT NULL,
    PRIMARY KEY (principal, message_id)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS audit (number INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;
  ${PUSH_SCHEMA}
`;
