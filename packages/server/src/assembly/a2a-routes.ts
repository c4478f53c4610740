import type { ConnectRouter } from "@connectrpc/connect";
import { A2AService, MessageQueueService } from "@devtool/schema/a2a-v1";
import { addressedAgent } from "../handler/addressed-agent.ts";
import { cardRoutes } from "../transport/a2a-v1/card-routes.ts";
import { ERROR_TABLE_1_0_0 } from "../transport/a2a-v1/error-table.ts";
import { extendedCardOf } from "../transport/a2a-v1/extended-card.ts";
import { type A2aV1, createA2aV1 } from "../transport/a2a-v1/routes.ts";
import { agentCard } from "../transport/a2a-v03/card.ts";
import { a2aV03Routes } from "../transport/a2a-v03/routes.ts";
import {
  agentPath,
  type DialectServices,
  forEachAgent,
} from "../transport/dialect.ts";
import { JWKS_PATH } from "../transport/http/jwks.ts";
import type { Route } from "../transport/http/route.ts";

/** A2A 0.3 and 1.0 in all their bindings. */
export interface A2a {
  /** The agent cards, JSON-RPC and HTTP+JSON. */
  readonly routes: readonly Route[];

  /** Registers the services of A2A 1.0, for gRPC, gRPC-Web and Connect. */
  readonly registerRpcs: (router: ConnectRouter) => void;
}

/** Creates A2A 0.3 and 1.0. */
export async function createA2a(services: DialectServices): Promise<A2a> {
  const methods = services
    .served()
    .flatMap((each) => ("loadMethods" in each ? [each.loadMethods()] : []));
  const dialects = await Promise.all(methods);
  const v1 = createV1(services);
  const v03 = forEachAgent(services, (own) =>
    a2aV03Routes({
      ...own,
      ...own.about,
      // Those of the default agent: 1.0 serves all agents at one URL.
      ...(own.agent === "" ? { otherVersions: [v1.dialect], dialects } : {}),
    }),
  );
  return {
    routes: [...agentCardRoutes(services), ...v03, ...v1.routes],
    registerRpcs: (router) => {
      router.service(A2AService, v1.service);
      router.service(MessageQueueService, v1.queue);
    },
  };
}

/**
 * Creates A2A 1.0, which serves all agents at one URL. The extended card is
 * that of the agent which a call is addressed to, or of the default one.
 */
function createV1(services: DialectServices): A2aV1 {
  const { about, agents, a2a, baseUrl, handler, nextId } = services;
  const extended = {
    baseUrl,
    readers: a2a.extendedCard ?? "known",
    grpc: servesGrpc(services),
  };
  const card = agentCard(baseUrl, about);
  const ofDefault = extendedCardOf(handler, card, extended);
  const byAgent = new Map(
    [...agents].map(([tenant, description]) => {
      const own = agentCard(`${baseUrl}${agentPath(tenant)}`, description);
      return [tenant, extendedCardOf(handler, own, { ...extended, tenant })];
    }),
  );
  return createA2aV1({
    ...services,
    ...a2a,
    extensionRequired: about.extensionRequired,
    extendedCard: (context) =>
      (byAgent.get(addressedAgent(context)) ?? ofDefault)(context),
    outputModes: about.outputModes,
    errorTable: a2a.revision === "1.0.0" ? ERROR_TABLE_1_0_0 : undefined,
    nextMessageId: a2a.missingMessageId === "generate" ? nextId : undefined,
  });
}

/** Creates the routes of the card of the default agent, and of each by name. */
function agentCardRoutes(services: DialectServices): Route[] {
  const { a2a, keys, startedAt, baseUrl } = services;
  const published = {
    baseUrl,
    modified: startedAt,
    unversioned: a2a.unversionedCard ?? "hybrid",
    grpc: (a2a.grpcInCard ?? false) && servesGrpc(services),
    key: async () => ({
      ...(await keys.current()),
      jwksUrl: `${baseUrl}${JWKS_PATH}`,
    }),
  };
  return forEachAgent(services, (own) =>
    cardRoutes({
      ...published,
      card: agentCard(own.baseUrl, own.about),
      tenant: own.agent,
    }),
  );
}

/** Whether a dialect of the server takes the calls of gRPC. */
function servesGrpc({ served }: DialectServices): boolean {
  const { typeName, method } = A2AService;
  return served().some(
    (each) =>
      "matches" in each &&
      each.matches("POST", `/${typeName}/${method.sendMessage.name}`),
  );
}
