import type { McpServer } from "@devtool/schema";
import { invalid } from "@devtool/server/agent";

/**
 * Throws `Code.InvalidArgument` for servers without a name, with the same name,
 * or without a usable address or command.
 */
export function assertUsable(servers: readonly McpServer[]): void {
  const names = new Set<string>();
  for (const { name, transport, sandbox } of servers) {
    if (name === "") {
      throw invalid("mcp_servers", "", "has a server without a name");
    }
    if (names.has(name)) throw invalid("mcp_servers", name, "is named twice");
    names.add(name);
    if (transport.case === undefined) {
      throw invalid(
        "mcp_servers",
        name,
        "has no transport",
        "give stdio, http or sse",
      );
    }
    if (sandbox && transport.case !== "stdio") {
      throw invalid(
        "mcp_servers",
        name,
        "has sandbox, and is not a process",
        "leave it out",
      );
    }
    if (transport.case === "stdio" && transport.value.command === "") {
      throw invalid("mcp_servers", name, "has no command");
    }
    if (
      transport.case !== "stdio" &&
      !/^https?:$/.test(URL.parse(transport.value.url)?.protocol ?? "")
    ) {
      throw invalid("mcp_servers", name, "has no http or https URL");
    }
  }
}
