/**
 * A store with 100,000 tasks: its start, its pages, and how long others stand
 * still while a task of 100 MB is deleted.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { PostgresStore } from "@devtool/postgres";
import { findPostgres, startPostgres } from "@devtool/postgres/testing";
import {
  AuditRecordSchema,
  type TaskEvent,
  TaskEventSchema,
  TaskState,
} from "@devtool/schema";
import { createServer } from "@devtool/server";
import { type ServerStore, SqliteTaskStore } from "@devtool/server/store";
import { clientOf } from "../../../test/client-of.ts";
import { median, numberNamed, printRow } from "./row.ts";

const TASKS = numberNamed("tasks", 100_000);
const LARGE_MB = numberNamed("large-mb", 100);
const ROUNDS = 20;
/** The tasks that begin at the same time, which share commits. */
const AT_ONCE = 1000;
const START_MS = Date.UTC(2026, 0, 1);
const directory = mkdtempSync(join(tmpdir(), "devtool-many-"));

try {
  await measure("sqlite", (name) =>
    SqliteTaskStore.open(join(directory, `${name}.db`)),
  );
  await measureDeletion();
  const bin = findPostgres();
  if (bin !== undefined) {
    await using database = await startPostgres(bin);
    await measure(
      "postgres",
      (schema) => PostgresStore.open({ url: database.url, schema }),
      // As its autovacuum does a minute after a table has grown.
      () => database.run("ANALYZE"),
    );
  }
} finally {
  rmSync(directory, { recursive: true, force: true });
}

async function measure(
  name: string,
  open: (place: string) => Promise<ServerStore>,
  settle: () => Promise<unknown> = () => Promise.resolve(),
): Promise<void> {
  {
    await using store = await open("full");
    const begun = performance.now();
    await fill(store);
    await settle();
    const seconds = ((performance.now() - begun) / 1000).toFixed(1);
    console.log(`# ${name}: ${TASKS} tasks were written in ${seconds} s`);
  }
  const [empty = 0, full = 0] = [
    await startMs(() => open("empty")),
    await startMs(() => open("full")),
  ];
  console.log(
    `# ${name}: an empty store starts in ${empty.toFixed(0)} ms, this one in ${full.toFixed(0)} ms`,
  );
  printRow({
    name: `many-tasks.${name}.start-over-empty-ms`,
    value: full - empty,
    target: { atMost: 300 },
  });
  await using server = await serve(() => open("full"));
  const { tasks } = clientOf(server);
  const { nextPageToken } = await tasks.listTasks({ pageSize: 100 });
  let deep = nextPageToken;
  for (let page = 0; page < 20; page++) {
    const request = { pageSize: 100, pageToken: deep };
    deep = (await tasks.listTasks(request)).nextPageToken;
  }
  const middle = Math.floor(TASKS / 2);
  const requests = [
    { what: "first", request: {} },
    { what: "deep", request: { pageToken: deep } },
    { what: "rare", request: { state: TaskState.FAILED } },
    { what: "agent", request: { agent: "own" } },
    { what: "rare-agent", request: { agent: "rare" } },
    { what: "prefix", request: { idPrefix: `t${middle}` } },
    { what: "title", request: { titleContains: `task ${middle}` } },
    { what: "common-title", request: { titleContains: "ask" } },
    { what: "short-title", request: { titleContains: "q" } },
    { what: "all-callers", request: { allCallers: true } },
  ];
  for (const { what, request } of requests) {
    const taken: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const begun = performance.now();
      await tasks.listTasks({ pageSize: 50, ...request });
      taken.push(performance.now() - begun);
    }
    console.log(
      `# ${name}, ${what}: ${median(taken).toFixed(1)} ms in the middle`,
    );
    // Others may use the machine meanwhile.
    printRow({
      name: `many-tasks.${name}.page-ms.${what}`,
      value: Math.min(...taken),
      target: { atMost: 20 },
    });
  }
}

async function fill(store: ServerStore): Promise<void> {
  for (let at = 0; at < TASKS; at += AT_ONCE) {
    const count = Math.min(AT_ONCE, TASKS - at);
    await Promise.all(
      Array.from({ length: count }, (_, index) =>
        store.append({ events: eventsOf(at + index) }),
      ),
    );
  }
}

/**
 * The events of a task; one of a thousand has failed, and a letter is in the
 * titles of the oldest alone.
 */
function eventsOf(at: number): TaskEvent[] {
  const taskId = `t${at}`;
  const title = at < TASKS / 64 ? `task ${at} q` : `task ${at}`;
  const common = {
    ...{ taskId, contextId: `c${at % 5000}` },
    time: timestampFromMs(START_MS + at * 1000),
  };
  const state = at % 1000 === 7 ? TaskState.FAILED : TaskState.COMPLETED;
  const content = { case: "text", value: `task ${at}` } as const;
  const message = { messageId: `m${at}`, parts: [{ content }] };
  const value = {
    ...{ principal: "local", message, title },
    sessionSettings: { agent: at % 20_000 === 5 ? "rare" : "own" },
  };
  return [
    create(TaskEventSchema, {
      ...common,
      sequence: 1n,
      state: TaskState.SUBMITTED,
      payload: { case: "created", value },
    }),
    create(TaskEventSchema, {
      ...common,
      ...{ sequence: 2n, state },
      payload: { case: "text", value: { text: "x".repeat(300) } },
    }),
  ];
}

async function startMs(open: () => Promise<ServerStore>): Promise<number> {
  const taken: number[] = [];
  for (let round = 0; round < 5; round++) {
    const begun = performance.now();
    await using _server = await serve(open);
    taken.push(performance.now() - begun);
  }
  return median(taken);
}

async function serve(open: () => Promise<ServerStore>) {
  const own = {
    about: { name: "own", description: "Does nothing." },
    open: () => ({
      createExecutor: () => ({
        async *execute() {
          // It is never asked.
        },
      }),
    }),
  };
  const server = await createServer({
    agents: { own },
    workspace: directory,
    openStore: open,
  });
  const { url, token } = server;
  return { url, token, [Symbol.asyncDispose]: () => server.close() };
}

/** Deletes a large task, and follows what the thread does meanwhile. */
async function measureDeletion(): Promise<void> {
  await using store = await SqliteTaskStore.open(join(directory, "large.db"));
  const [created] = eventsOf(0);
  if (!created) return;
  const { taskId } = created;
  await store.append({ events: [created] });
  const rows = (LARGE_MB * 1e6) / 100_000;
  for (let row = 0; row < rows; row++) {
    const sequence = BigInt(row + 2);
    const value = { text: "x".repeat(100_000) };
    const payload = { case: "text", value } as const;
    const event = create(TaskEventSchema, {
      ...{ taskId, contextId: "c0", sequence, payload },
      state: TaskState.COMPLETED,
    });
    await store.append({ events: [event] });
  }
  let isOver = false;
  let stopMs = 0;
  let wallMs = 0;
  const watching = (async (): Promise<void> => {
    let last = performance.now();
    let cpu = process.threadCpuUsage();
    while (!isOver) {
      await delay(1);
      const used = process.threadCpuUsage(cpu);
      stopMs = Math.max(stopMs, (used.user + used.system) / 1000);
      wallMs = Math.max(wallMs, performance.now() - last);
      last = performance.now();
      cpu = process.threadCpuUsage();
    }
  })();
  const begun = performance.now();
  const record = create(AuditRecordSchema, { taskId });
  await store.delete({ taskId, sequence: BigInt(rows + 1), record });
  const goneMs = performance.now() - begun;
  await store.backUp?.(join(directory, "backup.db"));
  const erasedMs = performance.now() - begun;
  isOver = true;
  await watching;
  console.log(
    `# ${LARGE_MB} MB are gone after ${goneMs.toFixed(0)} ms and overwritten after ${(erasedMs / 1000).toFixed(1)} s; the longest stop was ${wallMs.toFixed(0)} ms by the clock`,
  );
  printRow({
    name: "many-tasks.sqlite.deletion-stop-ms",
    value: stopMs,
    target: { atMost: 50 },
  });
}
