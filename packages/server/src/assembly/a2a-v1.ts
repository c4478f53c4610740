import { addressedAgent } from "../handler/addressed-agent.ts";
import { ERROR_TABLE_1_0_0 } from "../transport/a2a-v1/error-table.ts";
import { extendedCardOf } from "../transport/a2a-v1/extended-card.ts";
import { type A2aV1, createA2aV1 } from "../transport/a2a-v1/routes.ts";
import { agentCard } from "../transport/a2a-v03/card.ts";
import { agentPath } from "./agent-path.ts";
import type { DialectOptions } from "./dialects.ts";

/**
 * Creates A2A 1.0, which serves all agents at one URL. The extended card is
 * that of the agent which a call is addressed to, or of the default one.
 */
export function createA2aV1Of(options: DialectOptions): A2aV1 {
  const { about, agents, a2a, baseUrl, handler, nextId } = options;
  const readers = a2a.extendedCard ?? "known";
  const card = agentCard(baseUrl, about);
  const ofDefault = extendedCardOf(handler, card, { baseUrl, readers });
  const byAgent = new Map(
    [...agents].map(([tenant, description]) => {
      const own = agentCard(`${baseUrl}${agentPath(tenant)}`, description);
      return [
        tenant,
        extendedCardOf(handler, own, { baseUrl, readers, tenant }),
      ];
    }),
  );
  return createA2aV1({
    ...options,
    agents,
    extensionRequired: about.extensionRequired,
    extendedCard: (context) =>
      (byAgent.get(addressedAgent(context)) ?? ofDefault)(context),
    outputModes: about.outputModes,
    // Those of the operator. The input modes of an agent only inform clients.
    inputModes: a2a.inputModes,
    endedTask: a2a.endedTask,
    contextAlone: a2a.contextAlone,
    errorTable: a2a.revision === "1.0.0" ? ERROR_TABLE_1_0_0 : undefined,
    nextMessageId: a2a.missingMessageId === "generate" ? nextId : undefined,
  });
}
