/**
 * Our server with a watch on its event loop, whole or with one of its
 * protections off.
 */
import { mkdirSync } from "node:fs";
import { serveCodingAgent } from "@devtool/coding-agent";
import { ApprovalMode } from "@devtool/schema";
import { sabotage } from "./sabotage.ts";
import { watchOver } from "./watch.ts";

const [, , workspace = "", tickMs = "2", name = ""] = process.argv;
mkdirSync(`${workspace}-data`, { mode: 0o700 });
sabotage(name);
const server = await serveCodingAgent({
  workspace,
  dataDirectory: `${workspace}-data`,
  approvalMode: ApprovalMode.YOLO,
  limits: { maxConnections: 20_000, maxStreamsPerCaller: 20_000 },
});
await watchOver(server, Number(tickMs));
await server.close();
process.exit(0);
