import { toBinary } from "@bufbuild/protobuf";
import { foldTitle } from "@devtool/internal/title-text";
import { AuditRecordSchema, type TaskEvent } from "@devtool/schema";
import {
  detachShown,
  labelOfEvents,
  messageIdOf,
  positionOf,
  type TaskLabel,
} from "@devtool/server/store";
import type { QueryConfig } from "pg";
import type { AppendGroup } from "./append-batch.ts";
import { keyText } from "./key-text.ts";
import { titleGrams } from "./title-grams.ts";

/** The groups of a batch: $1 to $8, $12 and $13, as `APPEND` has them. */
const INPUT = `
  input AS (
    SELECT * FROM unnest(
      $1::text[], $2::text[], $3::text[], $4::smallint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
      $12::integer[], $13::bigint[]
    ) WITH ORDINALITY
      AS input (id, context_id, principal, state, time_ms, before, sequence, fence, messages, bytes, position)
  )`;

/** Updates the tasks that exist, have the fence, and end before their group. */
const ADVANCED = `
  advanced AS (
    UPDATE task SET state = input.state, time_ms = input.time_ms, sequence = input.sequence,
      messages = task.messages + input.messages, bytes = task.bytes + input.bytes
    FROM input
    WHERE task.id = input.id AND input.before > 0 AND task.sequence = input.before AND task.fence = input.fence
    RETURNING task.id, task.context_id, task.principal
  )`;

/** Inserts the rows of the tasks that were written: $9 to $11. */
const EVENTS = `
  events AS (
    INSERT INTO event (task_id, sequence, data)
    SELECT task_id, sequence, data FROM unnest($9::text[], $10::bigint[], $11::bytea[]) AS row (task_id, sequence, data)
    JOIN written ON written.id = task_id
  )`;

/** Makes each task the latest of its context, in the order of `position`. */
const LATEST = `
  latest AS (
    INSERT INTO context (principal, id, task_id)
    SELECT principal, context_id, id FROM (
      SELECT DISTINCT ON (principal, context_id) principal, context_id, id FROM written
      ORDER BY principal, context_id, position DESC
    ) AS last
    WHERE NOT EXISTS (
      SELECT FROM context
      WHERE context.principal = last.principal AND context.id = last.context_id AND context.task_id = last.id
    )
    ORDER BY principal, context_id
    ON CONFLICT (principal, id) DO UPDATE SET task_id = excluded.task_id
  )`;

/**
 * Writes the groups of a batch that only add to their logs, as `APPEND` does:
 * what agents say while they work. It costs PostgreSQL a quarter less.
 */
const ADVANCE = `
  WITH ${INPUT}, ${ADVANCED}, written AS (
    SELECT advanced.*, input.position FROM advanced JOIN input ON input.id = advanced.id
  ), ${EVENTS}, ${LATEST}
  SELECT id FROM written`;

/**
 * Writes the groups of a batch that follow their logs and have the fence of
 * their tasks, and returns the ids of these tasks.
 *
 * One statement: the row of a task is locked by the update that checks its
 * sequence and its fence, so whoever acquires the task meanwhile waits for this
 * append or makes it write nothing. Rows of contexts and messages are locked in
 * the order of their keys, so that batches of several servers cannot wait for
 * each other.
 *
 * A task that is created under a lease claims the id of its message. When the
 * id is taken, the task is not created. So of several servers that create tasks
 * for copies of a message, one succeeds: the others wait for its commit.
 *
 * $1 to $8 describe the groups: task, context, principal, state, time, sequence
 * before, sequence after, fence, $12 their numbers of messages, and $13 the
 * sizes of their rows. $9 to $11 are the rows of events, $14 to $16 the ids of
 * messages, $17 and $18 the audit records. $19 is the owner of new tasks. $20 to
 * $22 are the answers to entries of the inbox. $23 to $27 are the labels of tasks
 * that begin or are renamed: task, title, title for comparison, workspace,
 * agent. $28 to $30 are what audit records show: task, digest, text. $31 are the
 * parts of the titles, by which they are found.
 */
const APPEND = `
  WITH ${INPUT}, claim AS (
    SELECT input.principal, message_id, task_id
    FROM unnest($14::text[], $15::text[], $16::bigint[]) AS message (task_id, message_id, sequence)
    JOIN input ON input.id = message.task_id
    WHERE message.sequence = 1 AND input.fence > 0
  ), claimed AS (
    INSERT INTO message (principal, message_id, task_id, sequence)
    SELECT principal, message_id, task_id, 1 FROM claim ORDER BY principal, message_id
    ON CONFLICT (principal, message_id) DO NOTHING
    RETURNING task_id
  ), created AS (
    INSERT INTO task (id, context_id, principal, state, time_ms, sequence, fence, messages, bytes, owner)
    SELECT id, context_id, principal, state, time_ms, sequence, fence, messages, bytes, CASE WHEN fence > 0 THEN $19 END
    FROM input
    WHERE before = 0 AND id NOT IN (SELECT task_id FROM claim EXCEPT SELECT task_id FROM claimed)
    ON CONFLICT (id) DO NOTHING
    RETURNING id, context_id, principal
  ), ${ADVANCED}, written AS (
    SELECT done.*, input.position, input.fence FROM (SELECT * FROM created UNION ALL SELECT * FROM advanced) AS done
    JOIN input ON input.id = done.id
  ), ${EVENTS}, messages AS (
    INSERT INTO message (principal, message_id, task_id, sequence)
    SELECT DISTINCT ON (principal, message_id) principal, message_id, task_id, sequence
    FROM unnest($14::text[], $15::text[], $16::bigint[]) AS message (task_id, message_id, sequence)
    JOIN written ON written.id = task_id
    WHERE sequence > 1 OR fence = 0
    ORDER BY principal, message_id, position DESC, sequence DESC
    ON CONFLICT (principal, message_id) DO UPDATE SET task_id = excluded.task_id, sequence = excluded.sequence
  ), ${LATEST}, labels AS (
    INSERT INTO label (task_id, title, title_key, workspace, agent, grams)
    SELECT task_id, title, title_key, workspace, agent, grams::integer[]
    FROM unnest($23::text[], $24::text[], $25::text[], $26::text[], $27::text[], $31::text[])
      AS label (task_id, title, title_key, workspace, agent, grams)
    JOIN written ON written.id = task_id
    ON CONFLICT (task_id) DO UPDATE
      SET title = excluded.title, title_key = excluded.title_key, grams = excluded.grams
  ), audits AS (
    INSERT INTO audit_pending (data)
    SELECT data FROM unnest($17::text[], $18::bytea[]) WITH ORDINALITY AS record (task_id, data, place)
    JOIN written ON written.id = task_id ORDER BY place
  ), shown AS (
    INSERT INTO audit_shown (task_id, digest, data)
    SELECT DISTINCT ON (task_id, digest) task_id, digest, data
    FROM unnest($28::text[], $29::bytea[], $30::bytea[]) AS shown (task_id, digest, data)
    JOIN written ON written.id = task_id ORDER BY task_id, digest
    ON CONFLICT DO NOTHING
  ), answers AS (
    UPDATE inbox SET sequence = answer.sequence, answered_at = clock_timestamp()
    FROM unnest($20::text[], $21::bigint[], $22::bigint[]) AS answer (task_id, entry, sequence)
    JOIN written ON written.id = answer.task_id
    WHERE inbox.id = answer.entry
  )
  SELECT id FROM written`;

/**
 * Creates the statement that writes a batch. Its rows have the ids of the tasks
 * that were written.
 */
export function appendStatement(
  groups: readonly AppendGroup[],
  owner: string | undefined,
): QueryConfig {
  const tasks = groups.map(taskOf);
  const rows = groups.flatMap(({ taskId, appends }) =>
    appends.flatMap((append) => append.rows.map((row) => ({ taskId, ...row }))),
  );
  const labels = groups.flatMap(labelsOf);
  const messages = groups.flatMap(messagesOf);
  const records = groups.flatMap(({ taskId, appends }) =>
    appends.flatMap(({ audit }) =>
      audit.map((record) => ({ ...detachShown(record), taskId })),
    ),
  );
  const texts = records.flatMap(({ taskId, text }) =>
    text ? [{ ...text, taskId }] : [],
  );
  const answers = groups.flatMap(({ taskId, appends }) =>
    appends.flatMap(({ answer }) => (answer ? [{ taskId, ...answer }] : [])),
  );
  const written = [
    tasks.map(({ id }) => id),
    tasks.map(({ contextId }) => contextId),
    tasks.map(({ principal }) => principal),
    tasks.map(({ state }) => state),
    tasks.map(({ timeMs }) => timeMs),
    tasks.map(({ before }) => before),
    tasks.map(({ sequence }) => sequence),
    tasks.map(({ fence }) => fence),
    rows.map(({ taskId }) => keyText(taskId)),
    rows.map(({ sequence }) => sequence),
    rows.map(({ data }) => data),
    tasks.map(({ messages }) => messages),
    tasks.map(({ bytes }) => bytes),
  ];
  const others = [labels, messages, records, answers];
  if (
    tasks.every(({ before }) => before > 0n) &&
    others.every(({ length }) => length === 0)
  ) {
    return { name: "advance", text: ADVANCE, values: written };
  }
  return {
    name: "append",
    text: APPEND,
    values: [
      ...written,
      messages.map(({ taskId }) => taskId),
      messages.map(({ messageId }) => messageId),
      messages.map(({ sequence }) => sequence),
      records.map(({ taskId }) => keyText(taskId)),
      records.map(({ record }) => toBinary(AuditRecordSchema, record)),
      owner ?? null,
      answers.map(({ taskId }) => keyText(taskId)),
      answers.map(({ entry }) => entry),
      answers.map(({ sequence }) => sequence),
      labels.map(({ taskId }) => taskId),
      labels.map(({ title }) => title),
      labels.map(({ title }) => keyText(foldTitle(title))),
      labels.map(({ workspacePath }) => keyText(workspacePath)),
      labels.map(({ agent }) => keyText(agent)),
      texts.map(({ taskId }) => keyText(taskId)),
      texts.map(({ digest }) => digest),
      texts.map(({ data }) => data),
      labels.map(({ title }) => `{${titleGrams(foldTitle(title)).join()}}`),
    ],
  };
}

/** The columns of a task after a group of appends. */
interface TaskColumns {
  readonly id: string;
  readonly contextId: string;
  /** The principal of a new task. Not used for any other. */
  readonly principal: string;
  readonly state: number;
  readonly timeMs: number;
  readonly before: bigint;
  readonly sequence: bigint;
  readonly fence: bigint;
  /** The number of messages that were added. */
  readonly messages: number;
  /** The size in bytes of the rows that were added. */
  readonly bytes: number;
}

function taskOf(group: AppendGroup): TaskColumns {
  const { taskId, fence } = group;
  const events = eventsOf(group);
  const [first] = events;
  const last = events.at(-1);
  if (!first || !last) {
    throw new Error(`task ${taskId} has a group without events`);
  }
  return {
    id: keyText(taskId),
    contextId: keyText(last.contextId),
    principal: keyText(
      first.payload.case === "created" ? first.payload.value.principal : "",
    ),
    state: last.state,
    timeMs: positionOf(last).timeMs,
    before: first.sequence - 1n,
    sequence: last.sequence,
    fence,
    messages: labelOfEvents(events).messageCount,
    bytes: group.appends
      .flatMap(({ rows }) => rows)
      .reduce((sum, { data }) => sum + data.length, 0),
  };
}

/**
 * Returns the label that the events of a group give their task, if they change
 * it. Workspace and agent are those of a new task.
 */
function labelsOf(
  group: AppendGroup,
): (TaskLabel & { readonly taskId: string })[] {
  const events = eventsOf(group).filter(
    ({ payload }) => payload.case === "created" || payload.case === "renamed",
  );
  const label = labelOfEvents(events);
  return events.length === 0
    ? []
    : [{ ...label, taskId: keyText(group.taskId) }];
}

interface MessageColumns {
  readonly taskId: string;
  readonly messageId: string;
  readonly sequence: bigint;
}

function messagesOf(group: AppendGroup): MessageColumns[] {
  return eventsOf(group).flatMap((event) => {
    const messageId = messageIdOf(event);
    if (messageId === undefined) return [];
    return [
      {
        taskId: keyText(group.taskId),
        messageId: keyText(messageId),
        sequence: event.sequence,
      },
    ];
  });
}

function eventsOf({ appends }: AppendGroup): TaskEvent[] {
  return appends.flatMap((append): readonly TaskEvent[] => append.events);
}
