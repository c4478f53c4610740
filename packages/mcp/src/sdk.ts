/**
 * Loads the MCP SDK. Loading it takes longer than the start of a server may, so
 * it is loaded with the first MCP server.
 */
export function loadSdk(): Promise<
  typeof import("@modelcontextprotocol/client")
> {
  return import("@modelcontextprotocol/client");
}
