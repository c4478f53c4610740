// The public names of @devtool/mcp, one by one. Adding a name is adding API.
export { createMcp } from "./create-mcp.ts";
