// The names of @devtool/mcp/server, one by one. Adding a name is adding API.
export { mcp } from "./mcp.ts";
export type { PortAgent, PortTasks } from "./port.ts";
export { serveMcpStdio } from "./serve-mcp-stdio.ts";
