import type { RequestHandler } from "../handler/request-handler.ts";
import type { SigningKeys } from "../push/signing-keys.ts";
import type { A2aOptions } from "../server-options.ts";
import { cardRoutes } from "../transport/a2a-v1/card-routes.ts";
import type { A2aV1 } from "../transport/a2a-v1/routes.ts";
import { agentCard, type CardOptions } from "../transport/a2a-v03/card.ts";
import { a2aV03Routes } from "../transport/a2a-v03/routes.ts";
import { agUiRoutes } from "../transport/ag-ui/routes.ts";
import { ThreadTurns } from "../transport/ag-ui/thread.ts";
import { GeminiCliTasks } from "../transport/gemini-cli/gemini-cli-tasks.ts";
import { geminiCliRoutes } from "../transport/gemini-cli/routes.ts";
import { GeminiCliService } from "../transport/gemini-cli/service.ts";
import type { Heartbeats } from "../transport/http/heartbeats.ts";
import { JWKS_PATH } from "../transport/http/jwks.ts";
import { type Route, routesBelow } from "../transport/http/route.ts";
import { agentPath } from "./agent-path.ts";

/** Dependencies of all protocols that other clients than ours speak. */
export interface DialectOptions {
  readonly handler: RequestHandler;
  /** The card contents of the default agent. */
  readonly about: CardOptions;
  /**
   * The card contents of each agent by name, when clients can choose; empty
   * when there is one agent.
   */
  readonly agents: ReadonlyMap<string, CardOptions>;
  /** The URL at which clients reach the server, without a trailing slash. */
  readonly baseUrl: string;
  readonly a2a: A2aOptions;
  /**
   * The time when the server started, which is when its agent cards last
   * changed.
   */
  readonly startedAt: Date;
  /** The keys that sign agent cards and notifications. */
  readonly keys: SigningKeys;
  /** The maximum size of a request in bytes. */
  readonly maxRequestBytes: number;
  /** Sends the keep-alive comments of all streams. */
  readonly heartbeats: Heartbeats;
  /** Aborts when the server closes. */
  readonly shutdown: AbortSignal;
  readonly nextId: () => string;
  readonly onError: (reason: unknown) => void;
}

/**
 * Creates the routes of A2A 0.3 and 1.0 with their agent cards, of Gemini CLI's
 * dialect and of AG-UI. All but the cards require authentication.
 */
export function dialectRoutes(options: DialectOptions, a2aV1: A2aV1): Route[] {
  const { about, agents, baseUrl, nextId } = options;
  // Gemini CLI's dialect is served at the server's own URL only, which is that
  // of the default agent.
  const geminiCli = new GeminiCliTasks(nextId);
  const turns = new ThreadTurns();
  const { outputModes } = about;
  const ofDefaultAgent = a2aV03Routes({
    ...options,
    ...about,
    otherVersions: [a2aV1.dialect],
    dialects: [
      new GeminiCliService({ ...options, outputModes, tasks: geminiCli }),
    ],
  });
  const ofNamedAgents = [...agents].flatMap(([agent, own]) => {
    const prefix = agentPath(agent);
    const a2aV03 = a2aV03Routes({
      ...options,
      ...own,
      agent,
      baseUrl: `${baseUrl}${prefix}`,
    });
    return routesBelow(prefix, [
      ...a2aV03,
      ...agUiRoutes({ ...options, turns, agent }),
    ]);
  });
  return [
    ...agentCardRoutes(options),
    ...ofNamedAgents,
    ...ofDefaultAgent,
    ...geminiCliRoutes({ ...options, geminiCli }),
    ...agUiRoutes({ ...options, turns }),
    ...a2aV1.routes,
  ];
}

/** Creates the routes of the card of the default agent, and of each by name. */
function agentCardRoutes({
  about,
  agents,
  baseUrl,
  a2a,
  keys,
  startedAt,
}: DialectOptions): Route[] {
  const published = {
    baseUrl,
    modified: startedAt,
    unversioned: a2a.unversionedCard ?? "hybrid",
    grpc: a2a.grpcInCard ?? false,
    key: async () => ({
      ...(await keys.current()),
      jwksUrl: `${baseUrl}${JWKS_PATH}`,
    }),
  };
  const ofNamedAgents = [...agents].flatMap(([tenant, own]) => {
    const prefix = agentPath(tenant);
    const card = agentCard(`${baseUrl}${prefix}`, own);
    return routesBelow(prefix, cardRoutes({ ...published, card, tenant }));
  });
  const card = agentCard(baseUrl, about);
  return [...cardRoutes({ ...published, card }), ...ofNamedAgents];
}
