import type { McpStdioOptions } from "./stdio-server.ts";

/**
 * Serves agents as the tools of an MCP server on standard streams, until the
 * host closes its end or the signal aborts. Tasks go on.
 */
export async function serveMcpStdio(
  options: McpStdioOptions,
  signal: AbortSignal,
): Promise<void> {
  const { serveHost } = await import("./stdio-server.ts");
  await serveHost(options, signal);
}
