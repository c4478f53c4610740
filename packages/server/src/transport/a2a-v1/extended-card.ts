import type { HandlerContext } from "@connectrpc/connect";
import type { AgentCard } from "@devtool/schema/a2a-v1";
import type { AgentCard as CardV03 } from "@devtool/schema/a2a-v03";
import { withCommandSkills } from "../a2a/card.ts";
import type { DialectServices } from "../dialect.ts";
import { agentCardV1, type Reach } from "./card.ts";

/**
 * Returns a function that makes the extended card of an agent: the public one
 * with a skill for each slash command of the default workspace. Only
 * authenticated callers get it, as the standard says (section 13.3), unless the
 * options let all read it.
 *
 * @param card the public one in the form of A2A 0.3
 */
export function extendedCardOf(
  { handler, a2a, assertKnown }: DialectServices,
  card: CardV03,
  reach: Reach,
): (context: HandlerContext) => Promise<AgentCard> {
  return async (context) => {
    if (a2a.extendedCard !== "everybody") assertKnown(context);
    return agentCardV1(await withCommandSkills(card, handler, context), reach);
  };
}
