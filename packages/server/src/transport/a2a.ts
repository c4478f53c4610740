import { loadOnce } from "@devtool/internal/load-once";
import {
  type Dialect,
  type DialectServices,
  forEachAgent,
  publicRoute,
  route,
} from "./dialect.ts";
import type { FailureForm } from "./http/route.ts";
import type { RoutedCall } from "./http/routed-call.ts";

/** The well-known path of an agent card, and its older one. */
const CARD_PATHS = ["/.well-known/agent-card.json", "/.well-known/agent.json"];

/** JSON-RPC of all versions. */
const JSON_RPC = /^\/(a2a\/?)?$/;

/** HTTP+JSON of A2A 0.3. */
const REST_V03 = /^\/v1\/.*$/;

/** HTTP+JSON of A2A 1.0, with or without a tenant. */
const REST_V1 =
  /^\/(([^/]+\/)?(message:\w+|tasks(\/.*)?|extendedAgentCard)|commands(:execute)?)$/;

/**
 * A2A 0.3 and 1.0 with their agent cards, over JSON-RPC and HTTP+JSON, and over
 * gRPC where `connect()` is served. All but the cards require authentication.
 * Loaded by the first request for one.
 */
export function a2a(): Dialect {
  return (services) => {
    const agents: DialectServices[] = [];
    const load = loadOnce(async () => {
      const { createA2a } = await import("./a2a-bindings.ts");
      return createA2a(services, agents);
    });
    const perAgent = forEachAgent(services, (own) => {
      agents.push(own);
      const loadOwn = loadOnce(async () => (await load()).forAgent(own));
      const sendCard = async (call: RoutedCall) =>
        (await loadOwn()).sendCard(call);
      return [
        ...CARD_PATHS.flatMap((path) => [
          publicRoute(own, "GET", path, sendCard, inRestV1),
          publicRoute(own, "HEAD", path, sendCard, inRestV1),
        ]),
        route(
          own,
          "POST",
          JSON_RPC,
          async (call) => (await loadOwn()).answerJsonRpc(call),
          inJsonRpc,
        ),
        route(
          own,
          "*",
          REST_V03,
          async (call) => (await loadOwn()).answerRest(call),
          inRestV03,
        ),
      ];
    });
    // 1.0 serves all agents at one URL.
    const restV1 = route(
      services,
      "*",
      REST_V1,
      async (call) => (await load()).answerRest(call),
      inRestV1,
    );
    const routes = [...perAgent, restV1];
    return [
      ...routes.map((each) => ({ ...each, name: "A2A" })),
      { loadRpcs: async () => (await load()).registerRpcs },
    ];
  };
}

const inRestV1 = formNamed("restV1Failure");
const inRestV03 = formNamed("restV03Failure");
const inJsonRpc = formNamed("jsonRpcFailure");

/** Returns a form of failures, which the first of them loads. */
function formNamed(
  name: keyof typeof import("./a2a/failure-forms.ts"),
): FailureForm {
  return async (...failure) =>
    (await import("./a2a/failure-forms.ts"))[name](...failure);
}
