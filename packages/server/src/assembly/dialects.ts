import type { AgentCard } from "@devtool/schema/a2a-v03";
import type { RequestHandler } from "../handler/request-handler.ts";
import { extendedCardOf } from "../transport/a2a_v1/extended-card.ts";
import { createA2aV1 } from "../transport/a2a_v1/routes.ts";
import type { CardOptions } from "../transport/a2a_v03/card.ts";
import { a2aV03Routes } from "../transport/a2a_v03/routes.ts";
import { CoderAgentTasks } from "../transport/coder_agent/coder-agent-tasks.ts";
import { coderAgentRoutes } from "../transport/coder_agent/routes.ts";
import { connectRoutes } from "../transport/connect/routes.ts";
import type { Route } from "../transport/route.ts";

/** What every way to call a server needs. */
export interface DialectOptions extends CardOptions {
  readonly handler: RequestHandler;
  /** The card for everybody. */
  readonly card: AgentCard;
  readonly baseUrl: string;
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
  const { handler, card, baseUrl, nextId } = options;
  const shared = { ...options, heartbeatMs: HEARTBEAT_MS };
  const a2a = createA2aV1({ ...shared, extendedCard: extendedCardOf(handler, card, baseUrl) });
  const coderAgent = new CoderAgentTasks(nextId);
  return [
    ...a2aV03Routes({ ...shared, coderAgent, dialects: [a2a.dialect] }),
    ...coderAgentRoutes({ ...shared, coderAgent }),
    ...a2a.routes,
    ...connectRoutes({ ...shared, a2a: a2a.service }),
  ];
}
