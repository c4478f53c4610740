/**
 * Servers that share PostgreSQL: a turn of a conversation beside one on SQLite,
 * and a thousand tasks at work on three servers, beside a stream of one.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createConnectTransport } from "@connectrpc/connect-node";
import {
  bearerInterceptor,
  createDevtoolClient,
  type DevtoolClient,
  subscribeTask,
  textMessage,
} from "@devtool/client";
import { PostgresStore } from "@devtool/postgres";
import { findPostgres, startPostgres } from "@devtool/postgres/testing";
import { createServer, type ServerOptions } from "@devtool/server";
import { familyMs } from "../subject.ts";
import {
  BURST,
  BURST_WORDS,
  clockAgent,
  LIVE,
  WORDS,
  wallTime,
} from "./clock-agent.ts";
import { median, numberNamed, printRow, quantile } from "./row.ts";

const TURNS = numberNamed("turns", 300);
const TASKS = numberNamed("tasks", 1000);
const REPLICAS = 3;
const LIMIT_MS = 180_000;
/** Streams before the event of one is measured, and that are measured. */
const WARM_STREAMS = 5;
const STREAMS = 7;
const SERVER = fileURLToPath(new URL("fleet-server.ts", import.meta.url));

const bin = findPostgres();
const directory = mkdtempSync(join(tmpdir(), "devtool-bench-fleet-"));
mkdirSync(join(directory, "work"));
if (bin !== undefined) {
  await using database = await startPostgres(bin, { fsync: "on" });
  const openStore = () => PostgresStore.open({ url: database.url });
  {
    await using sqlite = await start({
      dataDirectory: join(directory, "data"),
    });
    await using postgres = await start({ openStore });
    await compareTurns([sqlite, postgres]);
  }
  const eventMs = await streamBursts();
  const servers = await Promise.all(
    Array.from({ length: REPLICAS }, () => startProcess(database.url)),
  );
  await streamLive(servers, eventMs);
  for (const server of servers) await server[Symbol.asyncDispose]();
}
rmSync(directory, { recursive: true, force: true });

/** A server, and a client of it. */
interface Served extends AsyncDisposable {
  readonly client: DevtoolClient;
}

/** Starts a server in this process. */
async function start(options: Partial<ServerOptions>): Promise<Served> {
  const server = await createServer({
    agents: { clock: clockAgent },
    workspace: join(directory, "work"),
    ...options,
  });
  return {
    client: clientOf(server),
    [Symbol.asyncDispose]: () => server.close(),
  };
}

/**
 * Starts a server in a process of its own, as a fleet has them: in one, readers
 * would take the time in which leases are renewed.
 */
async function startProcess(database: string): Promise<Served> {
  const args = [
    ...process.execArgv,
    SERVER,
    database,
    join(directory, "work"),
    String(TASKS),
  ];
  const child = spawn(process.execPath, args, {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const [line] = await once(createInterface({ input: child.stdout }), "line");
  return {
    client: clientOf(JSON.parse(String(line))),
    async [Symbol.asyncDispose]() {
      const exited = once(child, "exit");
      child.stdin.end();
      await exited;
    },
  };
}

function clientOf({
  url,
  token,
}: {
  readonly url: string;
  readonly token: string;
}): DevtoolClient {
  const interceptors = [bearerInterceptor(token)];
  return createDevtoolClient(
    createConnectTransport({ baseUrl: url, httpVersion: "2", interceptors }),
  );
}

/** Follow-up turns on SQLite and on PostgreSQL, in turns. */
async function compareTurns(both: readonly [Served, Served]): Promise<void> {
  const taken: [number[], number[]] = [[], []];
  const contexts = ["", ""];
  for (let turn = 0; turn < TURNS; turn++) {
    for (const [at, { client }] of both.entries()) {
      const before = performance.now();
      const message = textMessage(crypto.randomUUID(), "again");
      const { task } = await client.tasks.sendMessage({
        message,
        contextId: contexts[at] ?? "",
      });
      taken[at]?.push(performance.now() - before);
      contexts[at] = task?.contextId ?? "";
    }
  }
  const [sqlite = 0, postgres = 0] = taken.map((times) => quantile(times, 0.5));
  const p99 = taken.map((times) => quantile(times, 0.99).toFixed(1));
  console.log(
    `# follow-up turn: SQLite p50 ${sqlite.toFixed(1)} ms, p99 ${p99[0]}; PostgreSQL ${postgres.toFixed(1)}, ${p99[1]}`,
  );
  printRow({
    name: "fleet.turn.times-sqlite",
    value: postgres / sqlite,
    target: { atMost: 5 },
  });
}

/**
 * Returns the processor time in milliseconds of an event of a stream, of one
 * server on SQLite and its client together.
 */
async function streamBursts(): Promise<number> {
  await using server = await startProcess("");
  const taken: number[] = [];
  for (let stream = 0; stream < WARM_STREAMS + STREAMS; stream++) {
    const before = familyMs();
    await follow([server, server], BURST, () => undefined);
    if (stream >= WARM_STREAMS) taken.push(familyMs() - before);
  }
  return median(taken) / BURST_WORDS;
}

/**
 * Begins a task at a server and reads it at another, with the times of its
 * words. Returns the number of words.
 */
async function follow(
  [owner, reader]: readonly [Served, Served],
  kind: string,
  onWord: (time: number) => void,
): Promise<number> {
  const limit = AbortSignal.timeout(LIMIT_MS);
  const message = textMessage(`${kind}-${crypto.randomUUID()}`, "go");
  const { task } = await owner.client.tasks.sendMessage(
    { message, returnImmediately: true },
    { signal: limit },
  );
  let words = 0;
  for await (const { payload } of subscribeTask(
    reader.client,
    { taskId: task?.id ?? "" },
    limit,
  )) {
    if (payload.case !== "text") continue;
    for (const time of payload.value.text.trim().split(" ")) {
      words++;
      onWord(Number(time));
    }
  }
  return words;
}

/**
 * Tasks that say a word a second at each server, and are read at the next one:
 * how late a word is, and what it costs all processes, while all of them work.
 */
async function streamLive(
  servers: readonly Served[],
  eventMs: number,
): Promise<void> {
  const late: number[] = [];
  const counts = Array.from({ length: TASKS }, () => 0);
  let begun = 0;
  let msBefore = 0;
  let wordMs: number | undefined;
  const note = (at: number, time: number): void => {
    const count = (counts[at] ?? 0) + 1;
    counts[at] = count;
    if (count === 1 && ++begun === TASKS) msBefore = familyMs();
    if (begun < TASKS || wordMs !== undefined) return;
    late.push(wallTime() - time);
    if (count === WORDS) wordMs = (familyMs() - msBefore) / late.length;
  };
  const failures = await Promise.all(
    counts.map(async (_, at) => {
      const owner = servers[at % servers.length];
      const reader = servers[(at + 1) % servers.length];
      if (!owner || !reader) return [];
      try {
        await follow([owner, reader], LIVE, (time) => note(at, time));
        return [];
      } catch (reason) {
        return [String(reason)];
      }
    }),
  );
  printLive(late, wordMs ?? Number.NaN, eventMs);
  for (const reason of new Set(failures.flat())) console.log(`# ${reason}`);
  const unread = counts.reduce((sum, count) => sum + WORDS - count, 0);
  printRow({ name: "fleet.live.unread", value: unread, target: { atMost: 0 } });
}

function printLive(
  late: readonly number[],
  wordMs: number,
  eventMs: number,
): void {
  const [p50 = 0, p99 = 0] = [0.5, 0.99].map((share) => quantile(late, share));
  const [word, event] = [wordMs, eventMs].map((ms) => Math.round(ms * 1000));
  console.log(
    `# ${TASKS} tasks on ${REPLICAS} servers, ${late.length} words: p99 ${p99.toFixed(1)} ms to a reader at another; a word ${word} us, an event of a stream of one server ${event} us`,
  );
  printRow({ name: "fleet.live.p50-ms", value: p50, target: { atMost: 50 } });
  printRow({
    name: "fleet.word.times-event",
    value: wordMs / eventMs,
    target: { atMost: 15 },
  });
}
