import { create, type JsonObject } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  decodeRfcJson,
  ExecuteSlashCommandRequestSchema,
  ExecuteSlashCommandResponseSchema,
  encodeRfcJson,
  GetAllSlashCommandsResponseSchema,
  type RunSlashCommandRequest,
  SessionSettingsSchema,
  type SlashCommandService,
} from "@devtool/schema";
import { settingsMetadata } from "@devtool/schema/a2a-v03";
import { defined } from "@devtool/schema/json";
import type { RpcEndpoint } from "./rpc-endpoint.ts";

/**
 * Creates the slash-command service. The extension adds its two methods to both
 * versions of A2A (CMD-1).
 */
export function createA2aCommandService(
  endpoint: Pick<RpcEndpoint, "call">,
): ServiceImpl<typeof SlashCommandService> {
  return {
    async getAllSlashCommands(
      { contextId, settings, sessionSettings },
      { signal },
    ) {
      // Over HTTP+JSON the request is the query of a URL, which logs keep. It
      // names the agent alone, and no secret of an MCP server.
      const agent = sessionSettings?.agent ?? "";
      const chosen =
        agent === "" ? undefined : create(SessionSettingsSchema, { agent });
      const json = await endpoint.call(
        "commands/get",
        scopeParams({ contextId, settings, sessionSettings: chosen }),
        signal,
      );
      return decodeRfcJson(GetAllSlashCommandsResponseSchema, json);
    },
    async runSlashCommand(
      { command = create(ExecuteSlashCommandRequestSchema), ...scope },
      { signal },
    ) {
      const params = {
        ...encodeRfcJson(ExecuteSlashCommandRequestSchema, command),
        ...scopeParams(scope),
      };
      const json = await endpoint.call("command/execute", params, signal);
      return { result: decodeRfcJson(ExecuteSlashCommandResponseSchema, json) };
    },
  };
}

/** The conversation of a command, and the settings of a new one. */
type Scope = Partial<
  Pick<RunSlashCommandRequest, "contextId" | "settings" | "sessionSettings">
>;

/**
 * Encodes the conversation and settings that a command applies to, as a message
 * has them: beside the RFC's own fields.
 */
function scopeParams({
  contextId = "",
  settings,
  sessionSettings,
}: Scope): JsonObject {
  const metadata = settingsMetadata({ settings, sessionSettings });
  return defined({
    contextId: contextId === "" ? undefined : contextId,
    metadata: Object.keys(metadata).length === 0 ? undefined : metadata,
  });
}
