import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { objectOrEmpty } from "@devtool/internal/json";
import type { SlashCommand } from "@devtool/schema";
import {
  type AgentCard,
  type AgentSkill,
  AgentSkillSchema,
} from "@devtool/schema/a2a-v03";
import type { RequestHandler } from "../../handler/request-handler.ts";

/**
 * Returns the public card of an agent with a skill for each slash command of the
 * default workspace, which `commands/get` describes in full.
 */
export async function withCommandSkills(
  card: AgentCard,
  { commands }: RequestHandler,
  context: HandlerContext,
): Promise<AgentCard> {
  const listed = await commands.getAllSlashCommands({}, context);
  const skills = listed.commands.flatMap((command) =>
    commandSkills(command, []),
  );
  return { ...card, skills: [...card.skills, ...skills] };
}

/**
 * Returns a slash command and its subcommands as skills of an agent card.
 *
 * @param parents - The names of the commands above this one.
 */
function commandSkills(
  { name, description, subCommands }: SlashCommand,
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
