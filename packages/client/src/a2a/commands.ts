import { create, type JsonObject } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  decodeRfcJson,
  ExecuteSlashCommandRequestSchema,
  ExecuteSlashCommandResponseSchema,
  encodeRfcJson,
  GetAllSlashCommandsResponseSchema,
  type RunSlashCommandRequest,
  type SlashCommandService,
} from "@devtool/schema";
import { settingsMetadata } from "@devtool/schema/a2a-v03";
import type { RpcEndpoint } from "./rpc-endpoint.ts";

/** Slash commands, which the extension adds to JSON-RPC in either version of A2A (CMD-1). */
export function slashCommandImpl(endpoint: Pick<RpcEndpoint, "call">): ServiceImpl<typeof SlashCommandService> {
  return {
    async getAllSlashCommands(place, { signal }) {
      const params = placeParams(place);
      return decodeRfcJson(GetAllSlashCommandsResponseSchema, await endpoint.call("commands/get", params, signal));
    },
    async runSlashCommand({ command, ...place }, { signal }) {
      const params: JsonObject = {
        ...encodeRfcJson(ExecuteSlashCommandRequestSchema, command ?? create(ExecuteSlashCommandRequestSchema)),
        ...placeParams(place),
      };
      return {
        result: decodeRfcJson(
          ExecuteSlashCommandResponseSchema,
          await endpoint.call("command/execute", params, signal),
        ),
      };
    },
  };
}

/** Where commands belong, as a message has it: beside the RFC's own fields. */
function placeParams({ contextId, settings }: Pick<RunSlashCommandRequest, "contextId" | "settings">): JsonObject {
  return {
    ...(contextId !== "" && { contextId }),
    ...(settings && { metadata: settingsMetadata({ settings }) }),
  };
}
