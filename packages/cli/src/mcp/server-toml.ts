import type { JsonObject } from "@bufbuild/protobuf";
import { stringify } from "smol-toml";

/**
 * Returns an MCP server as lines for `config.toml`, with control and invisible
 * characters as TOML escapes.
 */
export function serverToml(server: JsonObject): string {
  return stringify({ mcp_servers: [server] }).replaceAll(
    /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) =>
      `\\U${(character.codePointAt(0) ?? 0).toString(16).padStart(8, "0")}`,
  );
}
