// The names of @devtool/mcp/server, one by one. Adding a name is adding API.
export { mcp } from "./mcp.ts";
