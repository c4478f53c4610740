import type { ServiceImpl } from "@connectrpc/connect";
import type { BrowserAccessService } from "@devtool/schema";
import type { AgentCard } from "@devtool/schema/a2a-v03";
import { addressedAgent } from "../handler/addressed-agent.ts";
import type { RequestHandler } from "../handler/request-handler.ts";
import type { A2aOptions } from "../server-options.ts";
import { ERROR_TABLE_1_0_0 } from "../transport/a2a-v1/error-table.ts";
import { extendedCardOf } from "../transport/a2a-v1/extended-card.ts";
import { type A2aV1, createA2aV1 } from "../transport/a2a-v1/routes.ts";
import { agentCard, type CardOptions } from "../transport/a2a-v03/card.ts";
import { a2aV03Routes } from "../transport/a2a-v03/routes.ts";
import { agUiRoutes } from "../transport/ag-ui/routes.ts";
import { ThreadTurns } from "../transport/ag-ui/thread.ts";
import { connectRoutes } from "../transport/connect/routes.ts";
import { GeminiCliTasks } from "../transport/gemini-cli/gemini-cli-tasks.ts";
import { geminiCliRoutes } from "../transport/gemini-cli/routes.ts";
import { GeminiCliService } from "../transport/gemini-cli/service.ts";
import { Heartbeats } from "../transport/http/heartbeats.ts";
import { type Route, routesBelow } from "../transport/http/route.ts";
import { createSessionService } from "../transport/sq-eq/service.ts";

/** Dependencies of all protocols of a server. */
export interface DialectOptions {
  readonly handler: RequestHandler;
  /** The card contents of the default agent. */
  readonly about: CardOptions;
  /** The public agent card of the default agent. */
  readonly card: AgentCard;
  /**
   * The card contents of each agent by name, when clients can choose; empty
   * when there is one agent.
   */
  readonly agents: ReadonlyMap<string, CardOptions>;
  /** The URL at which clients reach the server, without a trailing slash. */
  readonly baseUrl: string;
  readonly a2a: A2aOptions;
  /** The maximum size of a request in bytes. */
  readonly maxRequestBytes: number;
  /** Lets web browsers in. Undefined on a server without pages for them. */
  readonly browsers?: ServiceImpl<typeof BrowserAccessService> | undefined;
  /** Aborts when the server closes. */
  readonly shutdown: AbortSignal;
  readonly nextId: () => string;
  readonly onError: (reason: unknown) => void;
}

/** Dependencies that all protocols share. */
interface Shared
  extends Pick<
    DialectOptions,
    "handler" | "maxRequestBytes" | "nextId" | "onError" | "shutdown"
  > {
  readonly heartbeats: Heartbeats;
}

/** The time in milliseconds between two heartbeats of a stream. */
const HEARTBEAT_MS = 15_000;

/**
 * Creates the routes of all protocols: A2A 0.3 and 1.0, Gemini CLI's dialect,
 * AG-UI, Connect and gRPC with Codex's queues. All of them require
 * authentication.
 */
export function dialectRoutes(options: DialectOptions): Route[] {
  const { about, agents, baseUrl, handler, maxRequestBytes, nextId } = options;
  const shared: Shared = {
    handler,
    heartbeats: new Heartbeats(HEARTBEAT_MS),
    maxRequestBytes,
    nextId,
    onError: options.onError,
    shutdown: options.shutdown,
  };
  const a2aV1 = createA2aV1Of(options, shared);
  // Gemini CLI's dialect is served at the server's own URL only, which is that
  // of the default agent.
  const geminiCli = new GeminiCliTasks(nextId);
  const turns = new ThreadTurns();
  const { outputModes } = about;
  const ofDefaultAgent = a2aV03Routes({
    ...shared,
    ...about,
    baseUrl,
    otherVersions: [a2aV1.dialect],
    dialects: [
      new GeminiCliService({ ...shared, outputModes, tasks: geminiCli }),
    ],
  });
  const ofNamedAgents = [...agents].flatMap(([agent, own]) => {
    const prefix = agentPath(agent);
    const a2aV03 = a2aV03Routes({
      ...shared,
      ...own,
      agent,
      baseUrl: `${baseUrl}${prefix}`,
    });
    return routesBelow(prefix, [
      ...a2aV03,
      ...agUiRoutes({ ...shared, turns, agent }),
    ]);
  });
  return [
    ...ofNamedAgents,
    ...ofDefaultAgent,
    ...geminiCliRoutes({ ...shared, geminiCli }),
    ...agUiRoutes({ ...shared, turns }),
    ...a2aV1.routes,
    ...connectRoutes({
      ...shared,
      browsers: options.browsers,
      a2a: a2aV1.service,
      queue: a2aV1.queue,
      sessions: createSessionService(handler),
    }),
  ];
}

/** Returns the path below which A2A 0.3 serves one of several agents. */
export function agentPath(name: string): string {
  return `/agents/${name}`;
}

/**
 * Creates A2A 1.0, which serves all agents at one URL. The extended card is
 * that of the agent which a call is addressed to, or of the default one.
 */
function createA2aV1Of(options: DialectOptions, shared: Shared): A2aV1 {
  const { about, agents, a2a, card, baseUrl, handler, nextId } = options;
  const readers = a2a.extendedCard ?? "known";
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
    ...shared,
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
