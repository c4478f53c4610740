/** Servers that share PostgreSQL: a turn of a conversation beside one on SQLite, and a thousand tasks at work on three servers. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
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
import { type AgentEvent, createServer, type DevtoolServer, type ServerOptions } from "@devtool/server";
import { numberNamed, printRow, quantile } from "./row.ts";

const TURNS = numberNamed("turns", 300);
const TASKS = numberNamed("tasks", 1000);
const WORDS = 10;
const LIMIT_MS = 180_000;

/** Says the time once, or once a second when its prompt is `live`: a reader knows how long the word took. */
const agent = {
  about: { name: "clock", description: "Says the time." },
  open: () => ({
    createExecutor: () => ({
      async *execute(
        { prompt }: { prompt: { messageId: string } | undefined },
        signal: AbortSignal,
      ): AsyncIterable<AgentEvent> {
        const words = prompt?.messageId.startsWith("live") ? WORDS : 1;
        for (let word = 0; word < words; word++) {
          if (words > 1) await delay(500 + Math.random() * 1000, undefined, { signal });
          yield { case: "text", value: `${performance.now()} ` };
        }
      },
    }),
  }),
};

const bin = findPostgres();
const directory = mkdtempSync(join(tmpdir(), "devtool-bench-fleet-"));
mkdirSync(join(directory, "work"));
if (bin !== undefined) {
  await using database = await startPostgres(bin, { fsync: "on" });
  const openStore = () => PostgresStore.open({ url: database.url });
  const sqlite = await start({ dataDirectory: join(directory, "data") });
  const servers = [await start({ openStore }), await start({ openStore }), await start({ openStore })];
  const [one, ...others] = servers;
  if (one) await compareTurns([sqlite, one]);
  await streamLive(servers);
  for (const { server } of [sqlite, one, ...others].filter((each) => each !== undefined)) await server.close();
}
rmSync(directory, { recursive: true, force: true });

/** A server in this process, and a client of it. */
interface Served {
  readonly server: DevtoolServer;
  readonly client: DevtoolClient;
}

async function start(options: Partial<ServerOptions>): Promise<Served> {
  const server = await createServer({
    agents: { clock: agent },
    workspace: join(directory, "work"),
    limits: { maxStreamsPerCaller: TASKS, maxConcurrentStreams: 2 * TASKS },
    ...options,
  });
  const interceptors = [bearerInterceptor(server.token)];
  const client = createDevtoolClient(createConnectTransport({ baseUrl: server.url, httpVersion: "2", interceptors }));
  return { server, client };
}

/** Follow-up turns on SQLite and on PostgreSQL, in turns. */
async function compareTurns(both: readonly [Served, Served]): Promise<void> {
  const taken: [number[], number[]] = [[], []];
  const contexts = ["", ""];
  for (let turn = 0; turn < TURNS; turn++) {
    for (const [at, { client }] of both.entries()) {
      const before = performance.now();
      const message = textMessage(crypto.randomUUID(), "again");
      const { task } = await client.tasks.sendMessage({ message, contextId: contexts[at] ?? "" });
      taken[at]?.push(performance.now() - before);
      contexts[at] = task?.contextId ?? "";
    }
  }
  const [sqlite = 0, postgres = 0] = taken.map((times) => quantile(times, 0.5));
  const p99 = taken.map((times) => quantile(times, 0.99).toFixed(1));
  console.log(
    `# follow-up turn: SQLite p50 ${sqlite.toFixed(1)} ms, p99 ${p99[0]}; PostgreSQL ${postgres.toFixed(1)}, ${p99[1]}`,
  );
  printRow({ name: "fleet.turn.times-sqlite", value: postgres / sqlite, target: { atMost: 5 } });
}

/** Tasks that say a word a second at each server, and are read at the next one. */
async function streamLive(servers: readonly Served[]): Promise<void> {
  const late: number[] = [];
  let unread = 0;
  const follow = async (at: number): Promise<void> => {
    const owner = servers[at % servers.length];
    const reader = servers[(at + 1) % servers.length];
    if (!owner || !reader) return;
    const message = textMessage(`live-${crypto.randomUUID()}`, "go");
    const { task } = await owner.client.tasks.sendMessage({ message, returnImmediately: true });
    let words = 0;
    const limit = AbortSignal.timeout(LIMIT_MS);
    for await (const { payload } of subscribeTask(reader.client, { taskId: task?.id ?? "" }, limit)) {
      if (payload.case !== "text") continue;
      const said = payload.value.text.trim().split(" ");
      words += said.length;
      for (const time of said) late.push(performance.now() - Number(time));
    }
    unread += WORDS - words;
  };
  await Promise.all(Array.from({ length: TASKS }, (_, at) => follow(at)));
  const [p50, p99] = [0.5, 0.99].map((share) => quantile(late, share).toFixed(1));
  console.log(
    `# ${TASKS} tasks on ${servers.length} servers, ${late.length} words: p50 ${p50} ms, p99 ${p99} ms to a reader at another`,
  );
  printRow({ name: "fleet.live.unread", value: unread, target: { atMost: 0 } });
}
