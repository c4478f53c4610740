/**
 * One server of several on a database: prints where it is as JSON, and ends
 * with its input.
 */
import { once } from "node:events";
import { PostgresStore } from "@devtool/postgres";
import { createServer } from "@devtool/server";
import { clockAgent } from "./clock-agent.ts";

const [, , database = "", workspace = "", streams = "1"] = process.argv;
const server = await createServer({
  agents: { clock: clockAgent },
  workspace,
  openStore: () => PostgresStore.open({ url: database }),
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
