/**
 * Servers that share PostgreSQL: a turn of a conversation beside one on SQLite,
 * and a thousand tasks at work on three servers.
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
import { clockAgent, LIVE, WORDS, wallTime } from "./clock-agent.ts";
import { numberNamed, printRow, quantile } from "./row.ts";

const TURNS = numberNamed("turns", 300);
const TASKS = numberNamed("tasks", 1000);
const REPLICAS = 3;
const LIMIT_MS = 180_000;
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
  const servers = await Promise.all(
    Array.from({ length: REPLICAS }, () => startProcess(database.url)),
  );
  await streamLive(servers);
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
 * Tasks that say a word a second at each server, and are read at the next one.
 */
async function streamLive(servers: readonly Served[]): Promise<void> {
  const late: number[] = [];
  const failures = new Map<string, number>();
  let unread = 0;
  const follow = async (at: number): Promise<void> => {
    const [owner, reader] = [
      servers[at % servers.length],
      servers[(at + 1) % servers.length],
    ];
    if (!owner || !reader) return;
    const limit = AbortSignal.timeout(LIMIT_MS);
    let words = 0;
    try {
      const message = textMessage(`${LIVE}-${crypto.randomUUID()}`, "go");
      const { task } = await owner.client.tasks.sendMessage(
        { message, returnImmediately: true },
        { signal: limit },
      );
      for await (const { payload } of subscribeTask(
        reader.client,
        { taskId: task?.id ?? "" },
        limit,
      )) {
        if (payload.case !== "text") continue;
        const said = payload.value.text.trim().split(" ");
        words += said.length;
        for (const time of said) late.push(wallTime() - Number(time));
      }
    } catch (reason) {
      failures.set(String(reason), (failures.get(String(reason)) ?? 0) + 1);
    }
    unread += Math.abs(WORDS - words);
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: TASKS }, (_, at) => follow(at)));
  const [p50, p99] = [0.5, 0.99].map((share) =>
    quantile(late, share).toFixed(1),
  );
  const seconds = ((performance.now() - began) / 1000).toFixed(0);
  console.log(
    `# ${TASKS} tasks on ${servers.length} servers, ${late.length} words in ${seconds} s: p50 ${p50} ms, p99 ${p99} ms to a reader at another`,
  );
  for (const [reason, count] of failures) {
    console.log(`# ${count} readers: ${reason}`);
  }
  printRow({ name: "fleet.live.unread", value: unread, target: { atMost: 0 } });
}
