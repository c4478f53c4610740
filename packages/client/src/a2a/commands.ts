import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { defined } from "@devtool/internal/json";
import {
  decodeRfcJson,
  ExecuteSlashCommandRequestSchema,
  ExecuteSlashCommandResponseSchema,
  encodeRfcJson,
  type GetAllSlashCommandsResponse,
  GetAllSlashCommandsResponseSchema,
  type RunSlashCommandRequest,
  SessionSettingsSchema,
  type SlashCommand,
  type SlashCommandService,
  WireError,
} from "@devtool/schema";
import { settingsMetadata } from "@devtool/schema/a2a-v03";
import { decodeTold } from "./decode-readable.ts";
import type { EndpointOptions } from "./endpoint.ts";
import type { RpcEndpoint } from "./rpc-endpoint.ts";
import { decodeAnswer } from "./wire.ts";

/**
 * Creates the slash-command service. The extension adds its two methods to both
 * versions of A2A (CMD-1).
 */
export function createA2aCommandService(
  endpoint: Pick<RpcEndpoint, "call">,
  tell: EndpointOptions["onLeftOut"],
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
      return readCommands(
        json,
        (given) => decodeRfcJson(GetAllSlashCommandsResponseSchema, given),
        tell,
      );
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
      return {
        result: decodeAnswer(() =>
          decodeRfcJson(ExecuteSlashCommandResponseSchema, json),
        ),
      };
    },
  };
}

/**
 * Reads a list of slash commands. A command without a name cannot be run, and is
 * left out with those below it.
 */
export function readCommands(
  json: JsonValue,
  decode: (json: JsonValue) => GetAllSlashCommandsResponse,
  tell: EndpointOptions["onLeftOut"],
): GetAllSlashCommandsResponse {
  const named = (given: JsonValue): GetAllSlashCommandsResponse => {
    const response = decode(given);
    assertNamed(response.commands, "commands");
    return response;
  };
  return decodeTold(json ?? {}, named, tell);
}

function assertNamed(commands: readonly SlashCommand[], path: string): void {
  for (const [index, { name, subCommands }] of commands.entries()) {
    const at = `${path}[${index}]`;
    if (name === "") throw new WireError(at, "", "is a command without a name");
    assertNamed(subCommands, `${at}.subCommands`);
  }
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
