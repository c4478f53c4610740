// The names of @devtool/mcp/operator: for the command, which is a
// bundle. Not part of the published package.

export { runnerNotice } from "./server-place.ts";
