import { create, type JsonObject } from "@bufbuild/protobuf";
import { encodeRfcJson, SlashCommandService } from "@devtool/schema";
import { agentCardFromV03, AgentCardSchema as CardV1Schema, encodeA2aJson } from "@devtool/schema/a2a-v1";
import { AgentCardSchema } from "@devtool/schema/a2a-v03";
import { assertKnown } from "../../handler/caller.ts";
import { skillsOf } from "../a2a/command-skills.ts";
import { joinedSchemes } from "../a2a/hybrid-card.ts";
import type { MethodCall } from "../a2a/method.ts";
import { agentCard } from "./card.ts";
import type { A2aV03ServiceOptions } from "./options.ts";

/**
 * The card for who has the token: the public one, and a skill for each slash command of the default workspace. Its security
 * schemes are written in both forms of A2A 0.3, since clients of its HTTP+JSON binding read either.
 */
export async function extendedCard(
  { handler, baseUrl, ...options }: A2aV03ServiceOptions,
  { context }: MethodCall,
): Promise<JsonObject> {
  assertKnown(context);
  const request = create(SlashCommandService.method.getAllSlashCommands.input);
  const { commands = [] } = await handler.commands.getAllSlashCommands(request, context);
  const card = agentCard(baseUrl, options);
  const skills = [...card.skills, ...commands.flatMap((command) => skillsOf(command, []))];
  const { securitySchemes } = encodeA2aJson(CardV1Schema, agentCardFromV03(card));
  const v03 = encodeRfcJson(AgentCardSchema, { ...card, skills });
  return { ...v03, securitySchemes: joinedSchemes(securitySchemes, v03.securitySchemes) };
}
