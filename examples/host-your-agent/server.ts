/**
 * Serves the agent. Its tasks are in the data directory, so they survive a
 * restart.
 *
 *     DEVTOOL_TOKEN=… node server.ts DATA_DIRECTORY
 */
import { createServer } from "@devtool/server";
import { agent } from "./agent.ts";

const { DEVTOOL_TOKEN: token } = process.env;
if (token === undefined) {
  throw new Error(
    "DEVTOOL_TOKEN is not set: choose 32 or more letters and digits",
  );
}
const [dataDirectory = "data"] = process.argv.slice(2);
const server = await createServer({
  agents: { publisher: agent },
  dataDirectory,
  workspace: process.cwd(),
  token,
});
console.log(server.url);
