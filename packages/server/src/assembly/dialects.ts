import type { HandlerContext } from "@connectrpc/connect";
import type { AgentCard as CardV1 } from "@devtool/schema/a2a-v1";
import type { AgentCard } from "@devtool/schema/a2a-v03";
import { agentOf } from "../handler/addressed-agent.ts";
import type { RequestHandler } from "../handler/request-handler.ts";
import type { A2aOptions } from "../server-options.ts";
import { ERROR_TABLE_1_0_0 } from "../transport/a2a-v1/errors.ts";
import { type CardReaders, extendedCardOf } from "../transport/a2a-v1/extended-card.ts";
import type { A2aServiceOptions } from "../transport/a2a-v1/options.ts";
import { createA2aV1 } from "../transport/a2a-v1/routes.ts";
import { agentCard, type CardOptions } from "../transport/a2a-v03/card.ts";
import { a2aV03Routes } from "../transport/a2a-v03/routes.ts";
import { connectRoutes } from "../transport/connect/routes.ts";
import { GeminiCliTasks } from "../transport/gemini-cli/gemini-cli-tasks.ts";
import { geminiCliRoutes } from "../transport/gemini-cli/routes.ts";
import { GeminiCliService } from "../transport/gemini-cli/service.ts";
import { Heartbeats } from "../transport/http/heartbeats.ts";
import { type Route, routesBelow } from "../transport/http/route.ts";

/** What every way to call a server needs. */
export interface DialectOptions extends CardOptions {
  readonly handler: RequestHandler;
  /** The card for everybody. */
  readonly card: AgentCard;
  readonly baseUrl: string;
  /** What each agent says of itself, by name, where clients can choose; empty where there is one. */
  readonly agents: ReadonlyMap<string, CardOptions>;
  /** How A2A 1.0 is spoken, where there is a choice. */
  readonly a2a: A2aOptions;
  /** A request may have so many bytes. */
  readonly maxRequestBytes: number;
  /** Aborts when the server stops. */
  readonly shutdown: AbortSignal;
  readonly nextId: () => string;
  readonly onError: (reason: unknown) => void;
}

const HEARTBEAT_MS = 15_000;

/** Every way to call a server: A2A 0.3 and 1.0, Gemini CLI's own dialect, Connect and gRPC. All need the token. */
export function dialectRoutes(options: DialectOptions): Route[] {
  const { baseUrl, nextId } = options;
  const { extendedCard: readers = "known" } = options.a2a;
  const shared = { ...options, heartbeats: new Heartbeats(HEARTBEAT_MS) };
  const extendedCard = extendedCards(options, readers);
  const a2a = createA2aV1({ ...shared, ...a2aServiceOptions(options.a2a, nextId), extendedCard });
  const geminiCli = new GeminiCliTasks(nextId);
  const dialects = [new GeminiCliService({ ...shared, tasks: geminiCli })];
  const ofAgents = [...options.agents].flatMap(([agent, about]) => {
    const prefix = agentPath(agent);
    return routesBelow(prefix, a2aV03Routes({ ...shared, ...about, agent, baseUrl: `${baseUrl}${prefix}` }));
  });
  return [
    ...ofAgents,
    ...a2aV03Routes({ ...shared, versions: [a2a.dialect], dialects }),
    ...geminiCliRoutes({ ...shared, geminiCli }),
    ...a2a.routes,
    ...connectRoutes({ ...shared, a2a: a2a.service, queue: a2a.queue }),
  ];
}

/** The extended cards in the form of A2A 1.0: that of the agent that a call is addressed to, else that of the default. */
function extendedCards(
  { handler, card, agents, baseUrl }: DialectOptions,
  readers: CardReaders,
): (context: HandlerContext) => Promise<CardV1> {
  const byAgent = new Map(
    [...agents].map(([tenant, about]) => {
      const own = agentCard(`${baseUrl}${agentPath(tenant)}`, about);
      return [tenant, extendedCardOf(handler, own, { baseUrl, readers, tenant })];
    }),
  );
  const ofDefault = extendedCardOf(handler, card, { baseUrl, readers });
  return (context) => (byAgent.get(agentOf(context)) ?? ofDefault)(context);
}

/** Where A2A 0.3 of one of several agents is. */
export function agentPath(name: string): string {
  return `/agents/${name}`;
}

/** What the operator says of A2A 1.0, as its service takes it. */
function a2aServiceOptions(
  { endedTask, inputModes, revision, missingMessageId }: A2aOptions,
  nextId: () => string,
): Partial<A2aServiceOptions> {
  return {
    ...(endedTask && { endedTask }),
    ...(inputModes && { inputModes }),
    ...(revision === "1.0.0" && { errorTable: ERROR_TABLE_1_0_0 }),
    ...(missingMessageId === "generate" && { nextMessageId: nextId }),
  };
}
