/**
 * One server of several on a database, or one alone on SQLite when the database
 * is empty: prints where it is as JSON, and ends with its input.
 */
import { once } from "node:events";
import { PostgresStore } from "@devtool/postgres";
import { createServer } from "@devtool/server";
import { clockAgent } from "./clock-agent.ts";

const [, , database = "", workspace = "", streams = "1"] = process.argv;
// As tests of a busy machine do: a late renewal is not what is measured.
const leaseMs = 60_000;
const server = await createServer({
  agents: { clock: clockAgent },
  workspace,
  ...(database === ""
    ? { dataDirectory: `${workspace}-data` }
    : { openStore: () => PostgresStore.open({ url: database, leaseMs }) }),
  limits: {
    maxStreamsPerCaller: Number(streams),
    maxConcurrentStreams: 2 * Number(streams),
  },
});
console.log(JSON.stringify({ url: server.url, token: server.token }));
process.stdin.resume();
await once(process.stdin, "end");
await server.close();
process.exit(0);
