// An MCP server behind OAuth and its authorization server, in a process of their
// own. Prints where they are as JSON, and ends with its standard input.
import { startProtectedServer } from "./protected-server.ts";

const { url, issuer } = await startProtectedServer();
process.stdout.write(`${JSON.stringify({ url, issuer })}\n`);
process.stdin.on("end", () => process.exit()).resume();
