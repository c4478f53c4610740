/** Loads the MCP SDK. It takes longer than the start of a server may, so it is loaded with the first server that is needed. */
export function loadSdk(): Promise<typeof import("@modelcontextprotocol/client")> {
  return import("@modelcontextprotocol/client");
}
