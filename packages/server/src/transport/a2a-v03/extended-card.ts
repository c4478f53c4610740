import { create, type JsonObject } from "@bufbuild/protobuf";
import { encodeRfcJson, SlashCommandService } from "@devtool/schema";
import { agentCardFromV03, AgentCardSchema as CardV1Schema, encodeA2aJson } from "@devtool/schema/a2a-v1";
import { AgentCardSchema } from "@devtool/schema/a2a-v03";
import { assertKnown } from "../../handler/caller.ts";
import { commandSkills, hybridSecuritySchemes } from "../a2a/card.ts";
import type { MethodCall } from "../a2a/method.ts";
import { agentCard } from "./card.ts";
import type { A2aV03ServiceOptions } from "./options.ts";

/**
 * Returns the card for authenticated callers: the public one with a skill for each slash command of
 * the default workspace.
 *
 * Its security schemes have the fields of both forms in A2A 0.3, since clients of HTTP+JSON read
 * either.
 */
export async function extendedCard(
  { handler, baseUrl, ...options }: A2aV03ServiceOptions,
  { context }: MethodCall,
): Promise<JsonObject> {
  assertKnown(context);
  const request = create(SlashCommandService.method.getAllSlashCommands.input);
  const { commands = [] } = await handler.commands.getAllSlashCommands(request, context);
  const card = agentCard(baseUrl, options);
  const skills = [...card.skills, ...commands.flatMap((command) => commandSkills(command, []))];
  const v03 = encodeRfcJson(AgentCardSchema, { ...card, skills });
  const v1 = encodeA2aJson(CardV1Schema, agentCardFromV03(card));
  return { ...v03, securitySchemes: hybridSecuritySchemes(v03.securitySchemes, v1.securitySchemes) };
}
