import { createHash } from "node:crypto";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { foldTitle } from "@devtool/internal/title-text";
import {
  type AuditRecord,
  AuditRecordSchema,
  PushProgressSchema,
} from "@devtool/schema";
import {
  chainRecord,
  decodeAuditRow,
  detachShown,
  labelInRow,
} from "@devtool/server/store";
import type { ClientBase } from "pg";
import { putShown } from "./audit-shown.ts";
import { keyText } from "./key-text.ts";
import { titleGrams } from "./title-grams.ts";

/** A change of the tables. */
export interface Migration {
  /** The SQL that makes the change. */
  readonly up: string;
  /** The SQL that undoes it, for a return to the release before. */
  readonly down: string;
  /** Writes what SQL cannot compute, after `up`. Default: nothing. */
  readonly fill?: (client: ClientBase) => Promise<void>;
}

/**
 * All changes of the tables, in order. The version of a schema is the number of
 * changes that it has.
 *
 * Ids that clients choose sort by their bytes (`COLLATE "C"`), which is the
 * order of the lists. A row of `event` holds the events of one append under the
 * sequence of the last one, as in SQLite.
 */
export const MIGRATIONS: readonly Migration[] = [
  {
    up: `
      CREATE TABLE task (
        id text COLLATE "C" PRIMARY KEY, context_id text COLLATE "C" NOT NULL, principal text COLLATE "C" NOT NULL,
        state smallint NOT NULL, time_ms bigint NOT NULL, sequence bigint NOT NULL,
        fence bigint NOT NULL, owner text COLLATE "C"
      ) WITH (fillfactor = 80);
      CREATE INDEX task_by_time ON task (principal, time_ms DESC, id DESC);
      CREATE INDEX task_by_context ON task (context_id);
      CREATE INDEX task_by_state ON task (state);
      CREATE INDEX task_by_owner ON task (owner) WHERE owner IS NOT NULL;
      CREATE TABLE context (
        principal text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, task_id text COLLATE "C" NOT NULL,
        PRIMARY KEY (principal, id)
      ) WITH (fillfactor = 80);
      CREATE TABLE event (
        task_id text COLLATE "C" NOT NULL, sequence bigint NOT NULL, data bytea NOT NULL,
        PRIMARY KEY (task_id, sequence)
      );
      CREATE TABLE message (
        principal text COLLATE "C" NOT NULL, message_id text COLLATE "C" NOT NULL,
        task_id text COLLATE "C" NOT NULL, sequence bigint NOT NULL,
        PRIMARY KEY (principal, message_id)
      );
      CREATE TABLE audit (number bigint PRIMARY KEY, data bytea NOT NULL);
      CREATE TABLE audit_pending (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, data bytea NOT NULL);
      CREATE TABLE push_config (
        id bigint GENERATED ALWAYS AS IDENTITY,
        task_id text COLLATE "C" NOT NULL, config_id text COLLATE "C" NOT NULL, active boolean NOT NULL,
        subscription bytea NOT NULL, progress bytea NOT NULL,
        PRIMARY KEY (task_id, config_id)
      );
      CREATE INDEX push_config_active ON push_config (task_id) WHERE active;
      CREATE TABLE replica (id text COLLATE "C" PRIMARY KEY, alive_until timestamptz NOT NULL);
    `,
    down: "DROP TABLE replica, push_config, audit_pending, audit, message, event, context, task",
  },
  {
    up: `
      CREATE TABLE inbox (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, task_id text COLLATE "C" NOT NULL, request bytea NOT NULL,
        sequence bigint, refusal bytea, answered_at timestamptz
      );
      CREATE INDEX inbox_waiting ON inbox (task_id, id) WHERE answered_at IS NULL;
    `,
    down: "DROP TABLE inbox",
  },
  {
    // What lists show of a task. A task writes it when it begins and when it is
    // renamed.
    up: `
      CREATE TABLE label (
        task_id text COLLATE "C" PRIMARY KEY, title text COLLATE "C" NOT NULL, title_key text COLLATE "C" NOT NULL,
        workspace text COLLATE "C" NOT NULL, agent text COLLATE "C" NOT NULL
      );
    `,
    down: "DROP TABLE label",
    fill: labelTasks,
  },
  {
    // Which server works, or has worked last, in a conversation that an agent
    // keeps itself; how far push configs are delivered; the keys that sign
    // cards and notifications.
    up: `
      CREATE TABLE agent_session (
        principal text COLLATE "C" NOT NULL, context_id text COLLATE "C" NOT NULL, owner text COLLATE "C" NOT NULL,
        fence bigint NOT NULL, turns integer NOT NULL, session text COLLATE "C" NOT NULL,
        PRIMARY KEY (principal, context_id)
      ) WITH (fillfactor = 80);
      ALTER TABLE push_config ADD COLUMN position bigint NOT NULL DEFAULT 0;
      CREATE TABLE signing_key (version bigint NOT NULL, data bytea NOT NULL);
      INSERT INTO signing_key (version, data) VALUES (0, '');
    `,
    down: "DROP TABLE agent_session, signing_key; ALTER TABLE push_config DROP COLUMN position",
    fill: positionConfigs,
  },
  {
    // The approvals that the operator gave for good: one row with a PolicyFile.
    up: `
      CREATE TABLE saved_approvals (version bigint NOT NULL, data bytea NOT NULL);
      INSERT INTO saved_approvals (version, data) VALUES (0, '');
    `,
    down: "DROP TABLE saved_approvals",
  },
  {
    // What decides at a server how far tasks go without asking: a digest, empty
    // until the server has opened its agents.
    up: "ALTER TABLE replica ADD COLUMN basis text NOT NULL DEFAULT ''",
    down: "ALTER TABLE replica DROP COLUMN basis",
  },
  {
    // The number of messages of each task; 1 for those that servers of the
    // release before begin. Counts the ids of later messages, as SQLite's store
    // does.
    up: `
      ALTER TABLE task ADD COLUMN messages integer NOT NULL DEFAULT 1;
      UPDATE task SET messages = 1 + later.messages FROM
        (SELECT task_id, count(*) AS messages FROM message WHERE sequence > 1 GROUP BY task_id) AS later
      WHERE id = later.task_id;
    `,
    down: "ALTER TABLE task DROP COLUMN messages",
  },
  {
    // What audit records show, beside the chain, which covered it before. The
    // earlier release cannot read the chain without.
    up: `
      CREATE TABLE audit_shown (
        task_id text COLLATE "C" NOT NULL, digest bytea NOT NULL, data bytea NOT NULL,
        PRIMARY KEY (task_id, digest)
      );
    `,
    down: `
      DO $$ BEGIN
        IF EXISTS (SELECT FROM audit) OR EXISTS (SELECT FROM audit_pending) THEN
          RAISE EXCEPTION 'the audit log cannot go back to the release before: restore a backup of that time';
        END IF;
      END $$;
      DROP TABLE audit_shown;
    `,
    fill: detachTexts,
  },
  {
    // The ids of messages of deleted tasks, for a day.
    up: `
      CREATE INDEX message_by_task ON message (task_id);
      CREATE INDEX inbox_by_task ON inbox (task_id);
      CREATE TABLE deleted_message (
        principal text COLLATE "C" NOT NULL, message_id text COLLATE "C" NOT NULL,
        task_id text COLLATE "C" NOT NULL, time_ms bigint NOT NULL,
        PRIMARY KEY (principal, message_id)
      );
    `,
    down: "DROP TABLE deleted_message; DROP INDEX message_by_task, inbox_by_task",
  },
  {
    // The size of each task's events, by which retention deletes. Servers of the
    // release before count nothing.
    up: `
      ALTER TABLE task ADD COLUMN bytes bigint NOT NULL DEFAULT 0;
      UPDATE task SET bytes = stored.bytes FROM
        (SELECT task_id, sum(octet_length(data)) AS bytes FROM event GROUP BY task_id) AS stored
      WHERE id = stored.task_id;
    `,
    down: "ALTER TABLE task DROP COLUMN bytes",
  },
  {
    // Deletions look for the ids of messages that are older than a day.
    up: "CREATE INDEX deleted_message_by_time ON deleted_message (time_ms)",
    down: "DROP INDEX deleted_message_by_time",
  },
  {
    // The parts of each title, by which lists find it. A title that a server of
    // the release before writes is not found by them.
    up: `
      ALTER TABLE label ADD COLUMN grams integer[] NOT NULL DEFAULT '{}';
      CREATE INDEX label_by_grams ON label USING gin (grams);
    `,
    down: "ALTER TABLE label DROP COLUMN grams",
    fill: splitTitles,
  },
  {
    // When each request was put into the inbox, for its metrics.
    up: "ALTER TABLE inbox ADD COLUMN put_at timestamptz NOT NULL DEFAULT clock_timestamp()",
    down: "ALTER TABLE inbox DROP COLUMN put_at",
  },
  {
    // The heads of long tasks. One that is put while its task is deleted goes
    // with it.
    up: `
      CREATE TABLE task_head (
        task_id text COLLATE "C" PRIMARY KEY REFERENCES task (id) ON DELETE CASCADE,
        sequence bigint NOT NULL, data bytea NOT NULL
      );
    `,
    down: "DROP TABLE task_head",
  },
  {
    // The order of the lists of all callers, and the tasks in states that are no
    // end: few, which metrics read again and again.
    up: `
      CREATE INDEX task_in_time ON task (time_ms DESC, id DESC);
      CREATE INDEX task_unfinished ON task (id) WHERE state IN (1, 2, 6, 8);
    `,
    down: "DROP INDEX task_in_time, task_unfinished",
  },
  {
    // The tasks of workspaces and agents that have few of them.
    up: `
      CREATE INDEX label_by_workspace ON label (workspace);
      CREATE INDEX label_by_agent ON label (agent);
    `,
    down: "DROP INDEX label_by_workspace, label_by_agent",
  },
  {
    // What agents elsewhere could not be told to cancel: an UntoldCancel each.
    up: `CREATE TABLE untold_cancel (id text COLLATE "C" PRIMARY KEY, data bytea NOT NULL)`,
    down: "DROP TABLE untold_cancel",
  },
];

/** The number of tasks to label at a time. Each has its first row in memory. */
const PAGE = 64;

/** The number of titles to read at a time. */
const TITLES_PAGE = 1000;

/**
 * Labels all tasks, from their first events. Leaves out a task whose first row
 * is damaged.
 */
async function labelTasks(client: ClientBase): Promise<void> {
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

/** Writes the parts of all titles. */
async function splitTitles(client: ClientBase): Promise<void> {
  let position = "";
  for (;;) {
    const { rows } = await client.query<{ task_id: string; title: string }>(
      "SELECT task_id, title FROM label WHERE task_id > $1 ORDER BY task_id LIMIT $2",
      [position, TITLES_PAGE],
    );
    await client.query(
      `UPDATE label SET grams = given.grams::integer[]
        FROM unnest($1::text[], $2::text[]) AS given (task_id, grams) WHERE label.task_id = given.task_id`,
      [
        rows.map(({ task_id }) => task_id),
        rows.map(({ title }) => `{${titleGrams(foldTitle(title)).join()}}`),
      ],
    );
    if (rows.length < TITLES_PAGE) return;
    position = rows.at(-1)?.task_id ?? "";
  }
}

/**
 * Writes how far push configs have been delivered into their column, where
 * queries see it.
 */
async function positionConfigs(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ id: string; progress: Buffer }>(
    "SELECT id, progress FROM push_config",
  );
  for (const { id, progress } of rows) {
    const { cursor } = fromBinary(PushProgressSchema, progress);
    await client.query("UPDATE push_config SET position = $2 WHERE id = $1", [
      id,
      cursor,
    ]);
  }
}

/**
 * Moves what audit records show out of the chain, and out of the records beside
 * it. Leaves the rows of the chain from the first one on that is not valid.
 */
async function detachTexts(client: ClientBase): Promise<void> {
  const put = async (record: AuditRecord): Promise<AuditRecord> => {
    const detached = detachShown(record);
    if (detached.text) await client.query(putShown([detached.text]));
    return detached.record;
  };
  const pending = await client.query<{ id: string; data: Buffer }>(
    "SELECT id, data FROM audit_pending",
  );
  for (const { id, data } of pending.rows) {
    const record = await put(fromBinary(AuditRecordSchema, data));
    await client.query("UPDATE audit_pending SET data = $2 WHERE id = $1", [
      id,
      toBinary(AuditRecordSchema, record),
    ]);
  }
  let before: AuditRecord | undefined;
  let after: AuditRecord | undefined;
  let position = "0";
  for (;;) {
    const { rows } = await client.query<{ number: string; data: Buffer }>(
      `SELECT number::text, data FROM audit WHERE audit.number > $1 ORDER BY audit.number LIMIT ${PAGE}`,
      [position],
    );
    for (const { number, data } of rows) {
      position = number;
      const record = readRecord(number, data);
      if (!record || !followed(record, before)) return;
      before = record;
      await put(record);
      const chained = chainRecord(record, after);
      after = chained.record;
      await client.query("UPDATE audit SET data = $2 WHERE number = $1", [
        number,
        chained.data,
      ]);
    }
    if (rows.length < PAGE) return;
  }
}

/** Whether a record was valid after another one while hashes covered texts. */
function followed(
  record: AuditRecord,
  before: AuditRecord | undefined,
): boolean {
  const { number, previousHash, hash } = record;
  const none = new Uint8Array();
  const hashed = toBinary(AuditRecordSchema, { ...record, hash: none });
  return (
    number === (before?.number ?? 0n) + 1n &&
    Buffer.compare(previousHash, before?.hash ?? none) === 0 &&
    createHash("sha256").update(hashed).digest().compare(hash) === 0
  );
}

/** Returns the record of a row; undefined for a row that is damaged. */
function readRecord(number: string, data: Buffer): AuditRecord | undefined {
  try {
    return decodeAuditRow({ number, data });
  } catch {
    return undefined;
  }
}
