import type { RequestHandler } from "../handler/request-handler.ts";
import { cardRoutes } from "../transport/a2a_v1/card.ts";
import { extendedCardOf } from "../transport/a2a_v1/extended-card.ts";
import { createA2aV1 } from "../transport/a2a_v1/routes.ts";
import { agentCard } from "../transport/a2a_v03/card.ts";
import { a2aV03Routes } from "../transport/a2a_v03/routes.ts";
import { CoderAgentTasks } from "../transport/coder_agent/coder-agent-tasks.ts";
import { coderAgentRoutes } from "../transport/coder_agent/routes.ts";
import { connectRoutes } from "../transport/connect/routes.ts";
import { healthRoutes } from "../transport/health.ts";
import { jwksRoutes } from "../transport/jwks.ts";
import type { Route } from "../transport/route.ts";
import { VERSION } from "../version.ts";
import type { Notifications } from "./notifications.ts";

/** What the routes of a server are made of. */
export interface ServerRoutesOptions {
  readonly handler: RequestHandler;
  readonly notifications: Notifications;
  /** A request may have so many bytes. */
  readonly maxRequestBytes: number;
  /** Whether clients must know the extension (CARD-1). */
  readonly extensionRequired: boolean;
  /** Aborts when the server stops. */
  readonly shutdown: AbortSignal;
  readonly nextId: () => string;
  readonly onError: (reason: unknown) => void;
}

const HEARTBEAT_MS = 15_000;

/** Every route of a server that listens at a URL; the first that matches a request gets it. */
export function serverRoutes(options: ServerRoutesOptions, baseUrl: string): Route[] {
  const { notifications, shutdown, nextId, extensionRequired } = options;
  const shared = { ...options, heartbeatMs: HEARTBEAT_MS };
  const about = {
    name: "devtool",
    description: "A coding agent that works in a workspace and asks before it changes anything.",
    version: VERSION,
    extensionRequired,
    pushNotifications: true,
  };
  const card = agentCard(baseUrl, about);
  const a2a = createA2aV1({ ...shared, extendedCard: extendedCardOf(options.handler, card, baseUrl) });
  const coderAgent = new CoderAgentTasks(nextId);
  return [
    ...healthRoutes(() => !shutdown.aborted),
    ...jwksRoutes(() => notifications.keys.publicKeys()),
    ...cardRoutes({ card, baseUrl }),
    ...a2aV03Routes({ ...shared, ...about, baseUrl, coderAgent, dialects: [a2a.dialect] }),
    ...coderAgentRoutes({ ...shared, coderAgent }),
    ...a2a.routes,
    ...connectRoutes({ ...shared, a2a: a2a.service }),
  ];
}
