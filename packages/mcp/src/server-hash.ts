import { createHash } from "node:crypto";
import type { JsonObject } from "@bufbuild/protobuf";
import { canonicalJson } from "@devtool/internal/json";
import type { McpServer } from "@devtool/schema";

/**
 * Returns the SHA-256, in hex, of where an MCP server is: its URL, or its
 * command with arguments and directory, and whether it is in the sandbox.
 *
 * Approvals bind to it, because another server can have the same name. Headers
 * and the environment are left out: they hold tokens, which change.
 */
export function serverHash({
  transport,
  sandbox = false,
}: Pick<McpServer, "transport"> & { readonly sandbox?: boolean }): string {
  return createHash("sha256")
    .update(
      canonicalJson({
        ...hashedFields(transport),
        ...(sandbox && { sandbox }),
      }),
    )
    .digest("hex");
}

/**
 * Changing these fields, or their names, makes users approve their servers
 * anew.
 */
function hashedFields(transport: McpServer["transport"]): JsonObject {
  switch (transport.case) {
    case "stdio": {
      const { command, args, workingDirectory } = transport.value;
      return {
        case: transport.case,
        command,
        args: [...args],
        workingDirectory,
      };
    }
    case "http":
    case "sse":
      return { case: transport.case, url: transport.value.url };
    case undefined:
      return {};
    default:
      return transport satisfies never;
  }
}
