// The internals that tests of other packages use. This entry exists in this
// repository only.
export { McpServers, type McpServersOptions } from "../mcp-servers.ts";
export { readMcpResourceTool } from "../read-mcp-resource.ts";
