// What @devtool/mcp/testing exports, in this repository alone: what the tests of the whole need of the inside.
export { McpServers, type McpServersOptions } from "../mcp-servers.ts";
export { readMcpResourceTool } from "../read-mcp-resource.ts";
