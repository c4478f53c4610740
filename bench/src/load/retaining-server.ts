/**
 * A server that keeps few of its tasks, and looks often for what to delete, with
 * a watch on its event loop, or one that keeps all.
 */
import { mkdirSync } from "node:fs";
import { codingAgent } from "@devtool/coding-agent";
import { ApprovalMode } from "@devtool/schema";
import { createServer } from "@devtool/server";
import { lookOften } from "./frequent-looks.ts";
import { NO_RETENTION, sabotage } from "./sabotage.ts";
import { watchOver } from "./watch.ts";

/** The size in bytes of events, and the number of tasks that are kept. */
const MAX_BYTES = 8_000_000;
const MAX_TASKS = 1000;

const [, , workspace = "", tickMs = "2", name = ""] = process.argv;
mkdirSync(`${workspace}-data`, { mode: 0o700 });
sabotage(name);
lookOften();
const server = await createServer({
  workspace,
  dataDirectory: `${workspace}-data`,
  agents: { devtool: codingAgent({ approvalMode: ApprovalMode.YOLO }) },
  limits: { maxConnections: 20_000, maxStreamsPerCaller: 20_000 },
  retention:
    name === NO_RETENTION
      ? undefined
      : { maxBytes: MAX_BYTES, maxTasks: MAX_TASKS },
});
await watchOver(server, Number(tickMs));
await server.close();
process.exit(0);
