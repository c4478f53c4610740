import { create, type JsonObject, type MessageInitShape } from "@bufbuild/protobuf";
import { encodeRfcJson, type SlashCommandSchema, SlashCommandService } from "@devtool/schema";
import { AgentCardSchema as CardV1Schema, encodeA2aJson } from "@devtool/schema/a2a-v1";
import { AgentCardSchema, type AgentSkill, AgentSkillSchema } from "@devtool/schema/a2a-v03";
import { assertKnown } from "../../handler/caller.ts";
import type { RequestHandler } from "../../handler/request-handler.ts";
import { agentCardV1 } from "../a2a_v1/card.ts";
import { joinedSchemes } from "../a2a_v1/hybrid-card.ts";
import { type Call, contextOf } from "./call.ts";
import { agentCard, type CardOptions } from "./card.ts";

/**
 * The card for who has the token: the public one, and a skill for each slash command of the default workspace. Its security
 * schemes are written in both forms of A2A 0.3, since clients of its HTTP+JSON binding read either.
 */
export async function extendedCard(
  handler: RequestHandler,
  call: Call,
  { baseUrl, ...options }: CardOptions & { readonly baseUrl: string },
): Promise<JsonObject> {
  const { getAllSlashCommands } = SlashCommandService.method;
  const context = contextOf(call, getAllSlashCommands);
  assertKnown(context);
  const { commands = [] } = await handler.commands.getAllSlashCommands(create(getAllSlashCommands.input), context);
  const card = agentCard(baseUrl, options);
  const skills = [...card.skills, ...commands.flatMap((command) => skillsOf(command, []))];
  const { securitySchemes } = encodeA2aJson(CardV1Schema, agentCardV1(card, baseUrl));
  const v03 = encodeRfcJson(AgentCardSchema, { ...card, skills });
  return { ...v03, securitySchemes: joinedSchemes(securitySchemes, v03.securitySchemes) };
}

/** A command as a skill, and those below it; `commands/get` says more of each. */
export function skillsOf(command: MessageInitShape<typeof SlashCommandSchema>, above: readonly string[]): AgentSkill[] {
  const path = [...above, command.name ?? ""];
  const skill = create(AgentSkillSchema, {
    id: ["command", ...path].join("/"),
    name: `/${path.join(" ")}`,
    description: command.description ?? "",
    tags: ["slash-command"],
  });
  return [skill, ...(command.subCommands ?? []).flatMap((below) => skillsOf(below, path))];
}
