import type { AgentCard } from "@devtool/schema/a2a-v03";
import type { RequestHandler } from "../handler/request-handler.ts";
import type { A2aOptions } from "../server-options.ts";
import { ERROR_TABLE_1_0_0 } from "../transport/a2a_v1/errors.ts";
import { extendedCardOf } from "../transport/a2a_v1/extended-card.ts";
import type { A2aServiceOptions } from "../transport/a2a_v1/options.ts";
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
  const { handler, card, baseUrl, nextId } = options;
  const { extendedCard: readers = "known" } = options.a2a;
  const shared = { ...options, heartbeatMs: HEARTBEAT_MS };
  const extendedCard = extendedCardOf(handler, card, { baseUrl, readers });
  const a2a = createA2aV1({ ...shared, ...a2aServiceOptions(options.a2a, nextId), extendedCard });
  const coderAgent = new CoderAgentTasks(nextId);
  return [
    ...a2aV03Routes({ ...shared, coderAgent, dialects: [a2a.dialect] }),
    ...coderAgentRoutes({ ...shared, coderAgent }),
    ...a2a.routes,
    ...connectRoutes({ ...shared, a2a: a2a.service }),
  ];
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
