import type { ConnectRouter } from "@connectrpc/connect";
import { A2AService, MessageQueueService } from "@devtool/schema/a2a-v1";
import { answerJsonRpc } from "./a2a/json-rpc-endpoint.ts";
import { type A2aV1, createA2aV1 } from "./a2a-v1/bindings.ts";
import { ERROR_TABLE_1_0_0 } from "./a2a-v1/error-table.ts";
import { extendedCardOf } from "./a2a-v1/extended-card.ts";
import { PublishedCard } from "./a2a-v1/published-card.ts";
import { createA2aV03 } from "./a2a-v03/bindings.ts";
import { agentCard } from "./a2a-v03/card.ts";
import type { DialectServices } from "./dialect.ts";
import type { RoutedCall } from "./http/routed-call.ts";

type RouteHandler = (call: RoutedCall) => Promise<void>;

/** A2A 0.3 and 1.0 in all their bindings. */
export interface A2a {
  /** Answers requests of HTTP+JSON of A2A 1.0. */
  readonly answerRest: RouteHandler;

  /** Returns what is served for each agent at URLs of its own. */
  readonly forAgent: (own: DialectServices) => A2aAgent;

  /** Registers the services of A2A 1.0, for gRPC, gRPC-Web and Connect. */
  readonly registerRpcs: (router: ConnectRouter) => void;
}

/** What A2A serves for an agent at URLs of its own. */
export interface A2aAgent {
  /** Answers requests for the public card. */
  readonly sendCard: RouteHandler;

  /**
   * Answers requests of JSON-RPC: of A2A 0.3, and for the default agent also of
   * 1.0.
   */
  readonly answerJsonRpc: RouteHandler;

  /** Answers requests of HTTP+JSON of A2A 0.3. */
  readonly answerRest: RouteHandler;
}

/**
 * Creates A2A 0.3 and 1.0.
 *
 * @param agents the services of each agent that has URLs of its own
 */
export async function createA2a(
  services: DialectServices,
  agents: readonly DialectServices[],
): Promise<A2a> {
  const methods = services
    .served()
    .flatMap((each) => ("loadMethods" in each ? [each.loadMethods()] : []));
  const forms = await Promise.all(methods);
  const grpc = servesGrpc(services);
  const { baseUrl, a2a } = services;
  const v1 = createV1(services, agents);
  return {
    answerRest: v1.answerRest,
    forAgent: (own) => {
      const card = new PublishedCard(own, agentCard(own), {
        baseUrl,
        tenant: own.agent,
        grpc: (a2a.grpcInCard ?? false) && grpc,
      });
      // Those of the default agent: 1.0 serves all agents at one URL.
      const isDefault = own.agent === "";
      const v03 = createA2aV03(own, isDefault ? forms : []);
      const versions = isDefault ? [v1.rpc, v03.rpc] : [v03.rpc];
      return {
        sendCard: (call) => card.send(call),
        answerJsonRpc: (call) => answerJsonRpc(call, own, versions),
        answerRest: v03.answerRest,
      };
    },
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
function createV1(
  services: DialectServices,
  agents: readonly DialectServices[],
): A2aV1 {
  const { about, a2a, baseUrl, nextId } = services;
  const grpc = servesGrpc(services);
  const cardOf = (own: DialectServices) =>
    extendedCardOf(own, agentCard(own), { baseUrl, tenant: own.agent, grpc });
  const ofDefault = cardOf(services);
  const byAgent = new Map(agents.map((own) => [own.agent, cardOf(own)]));
  return createA2aV1({
    ...services,
    ...a2a,
    extensionRequired: about.extensionRequired,
    extendedCard: ({ agent, context }) =>
      (byAgent.get(agent) ?? ofDefault)(context),
    outputModes: about.outputModes,
    errorTable: a2a.revision === "1.0.0" ? ERROR_TABLE_1_0_0 : undefined,
    nextMessageId: a2a.missingMessageId === "generate" ? nextId : undefined,
  });
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
