import {
  create,
  type JsonObject,
  type JsonValue,
  type MessageInitShape,
} from "@bufbuild/protobuf";
import { objectOrEmpty } from "@devtool/internal/json";
import type { SlashCommandSchema } from "@devtool/schema";
import { type AgentSkill, AgentSkillSchema } from "@devtool/schema/a2a-v03";

/**
 * Returns a slash command and its subcommands as skills of an agent card.
 * `commands/get` describes them in full.
 *
 * @param parents - The names of the commands above this one.
 */
export function commandSkills(
  {
    name = "",
    description = "",
    subCommands = [],
  }: MessageInitShape<typeof SlashCommandSchema>,
  parents: readonly string[],
): AgentSkill[] {
  const path = [...parents, name];
  const skill = create(AgentSkillSchema, {
    id: ["command", ...path].join("/"),
    name: `/${path.join(" ")}`,
    description,
    tags: ["slash-command"],
  });
  return [
    skill,
    ...subCommands.flatMap((command) => commandSkills(command, path)),
  ];
}

/**
 * Merges the forms that a card has in A2A 0.3 and 1.0 into one that clients of
 * either version can read.
 *
 * Where both forms have a field of the same name with different contents, the
 * result holds the contents of both.
 */
export function hybridCard(v03: JsonObject, v1: JsonObject): JsonObject {
  return {
    ...v1,
    ...v03,
    capabilities: {
      ...objectOrEmpty(v1.capabilities),
      ...objectOrEmpty(v03.capabilities),
    },
    securitySchemes: hybridSecuritySchemes(
      v03.securitySchemes,
      v1.securitySchemes,
    ),
  };
}

/**
 * Merges the security schemes of both forms: each scheme has the fields of A2A
 * 0.3 and those of 1.0.
 */
export function hybridSecuritySchemes(
  v03: JsonValue | undefined,
  v1: JsonValue | undefined,
): JsonObject {
  const schemes = { ...objectOrEmpty(v1) };
  for (const [name, scheme] of Object.entries(objectOrEmpty(v03))) {
    schemes[name] = {
      ...objectOrEmpty(schemes[name]),
      ...objectOrEmpty(scheme),
    };
  }
  return schemes;
}
