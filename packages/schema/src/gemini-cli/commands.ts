import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import {
  type GetAllSlashCommandsResponse,
  GetAllSlashCommandsResponseSchema,
  type SlashCommand,
  SlashCommandSchema,
} from "../gen/devtool/a2a/v1alpha/command_pb.ts";
import {
  type Command,
  ListCommandsResponseSchema,
} from "../gen/devtool/coder_agent/v1alpha/http_pb.ts";
import { decodeRfcJson } from "../rfc-json.ts";

/**
 * Encodes the response of `GET /listCommands`. The name of a subcommand
 * includes those above it, such as `memory show`.
 */
export function encodeCommandList({
  commands,
}: GetAllSlashCommandsResponse): JsonObject {
  return { commands: commands.map((command) => commandJson(command, [])) };
}

function commandJson(
  { name, description, arguments: list, subCommands }: SlashCommand,
  above: readonly string[],
): JsonObject {
  const words = [...above, name];
  return {
    name: words.join(" "),
    description,
    arguments: list.map(({ name, description, isRequired }) => ({
      name,
      description,
      isRequired,
    })),
    subCommands: subCommands.map((command) => commandJson(command, words)),
  };
}

/** Decodes the response of `GET /listCommands`. */
export function decodeCommandList(
  json: JsonValue,
): GetAllSlashCommandsResponse {
  const { commands } = decodeRfcJson(ListCommandsResponseSchema, json);
  return create(GetAllSlashCommandsResponseSchema, {
    commands: commands.map(slashCommandOf),
  });
}

function slashCommandOf({
  name,
  description,
  arguments: list,
  subCommands,
}: Command): SlashCommand {
  return create(SlashCommandSchema, {
    name: name.split(" ").at(-1) ?? name,
    description,
    arguments: list.map(({ name, description, isRequired }) => ({
      name,
      description,
      isRequired,
    })),
    subCommands: subCommands.map(slashCommandOf),
  });
}
