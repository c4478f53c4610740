/**
 * The disk space and the write-ahead log of PostgreSQL for each event that was
 * appended alone, by the size of the event.
 */
import { create, toBinary } from "@bufbuild/protobuf";
import { PostgresStore } from "@devtool/postgres";
import {
  findPostgres,
  type PostgresServer,
  startPostgres,
} from "@devtool/postgres/testing";
import {
  AuditAction,
  AuditRecordSchema,
  type TaskEvent,
  TaskEventSchema,
  TaskState,
} from "@devtool/schema";
import { verifyAudit } from "@devtool/server";
import { printRow } from "./row.ts";

const TASKS = 200;
const EVENTS_OF_TASK = 100;

/**
 * The bytes of text of an event, whether an audit record comes with it, and the
 * maximum of disk space over the size of the event.
 */
const CASES = [
  { textBytes: 20, isAudited: false, maxOverhead: 300 },
  { textBytes: 20, isAudited: true, maxOverhead: 600 },
  { textBytes: 1000, isAudited: false, maxOverhead: 600 },
  { textBytes: 8000, isAudited: false, maxOverhead: 2000 },
];

const bin = findPostgres();
if (bin !== undefined) for (const each of CASES) await measure(bin, each);

async function measure(
  directory: string,
  { textBytes, isAudited, maxOverhead }: (typeof CASES)[number],
): Promise<void> {
  await using database = await startPostgres(directory);
  await using store = await PostgresStore.open({ url: database.url });
  // Random text, which PostgreSQL cannot compress.
  const random = Buffer.from(crypto.getRandomValues(new Uint8Array(textBytes)));
  const text = random.toString("base64").slice(0, textBytes);
  const before = await sizesOf(database);
  const appendTask = async (): Promise<void> => {
    const taskId = crypto.randomUUID();
    for (let sequence = 1n; sequence <= EVENTS_OF_TASK; sequence++) {
      const event = eventOf(taskId, sequence, text);
      await store.append({
        events: [event],
        audit: isAudited ? [recordOf(event)] : [],
      });
    }
  };
  await Promise.all(Array.from({ length: TASKS }, appendTask));
  // Records are chained when they are read, which moves them from one table to
  // another.
  await verifyAudit(store.readAudit(0n));
  await database.run("VACUUM FULL audit_pending");
  const after = await sizesOf(database);
  const eventBytes = toBinary(
    TaskEventSchema,
    eventOf(crypto.randomUUID(), 50n, text),
  ).length;
  const diskBytes = (after.disk - before.disk) / (TASKS * EVENTS_OF_TASK);
  const walBytes = (after.wal - before.wal) / (TASKS * EVENTS_OF_TASK);
  const name = `${eventBytes}-bytes${isAudited ? "-audited" : ""}`;
  console.log(
    `# ${name}: ${Math.round(diskBytes)} bytes on disk and ${Math.round(walBytes)} of write-ahead log an event`,
  );
  printRow({
    name: `store-size.${name}.overhead`,
    value: diskBytes - eventBytes,
    target: { atMost: maxOverhead },
  });
}

/**
 * The bytes of all tables with their indexes, and those written to the
 * write-ahead log since the database was made.
 */
async function sizesOf(
  database: PostgresServer,
): Promise<{ disk: number; wal: number }> {
  const [row] = await database.run(`
    SELECT (SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE c.relkind = 'r' AND n.nspname = 'devtool')::text AS disk,
           pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::text AS wal`);
  return { disk: Number(row?.disk), wal: Number(row?.wal) };
}

function eventOf(taskId: string, sequence: bigint, text: string): TaskEvent {
  const created = {
    case: "created",
    value: { principal: "local", message: { messageId: taskId } },
  } as const;
  const payload =
    sequence === 1n ? created : ({ case: "text", value: { text } } as const);
  return create(TaskEventSchema, {
    taskId,
    contextId: taskId,
    sequence,
    state: TaskState.WORKING,
    payload,
  });
}

function recordOf({ taskId, sequence }: TaskEvent) {
  const decided = {
    action: AuditAction.STARTED,
    toolCallId: "c1",
    toolName: "read_file",
    rule: "default",
  };
  return create(AuditRecordSchema, {
    taskId,
    sequence,
    principal: "local",
    ...decided,
  });
}
