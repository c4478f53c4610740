import type { SigningKeys } from "../push/signing-keys.ts";
import type { About } from "../server-options.ts";
import { cardRoutes } from "../transport/a2a_v1/card-routes.ts";
import { agentCard } from "../transport/a2a_v03/card.ts";
import type { SecurityOptions } from "../transport/auth/security-schemes.ts";
import { healthRoutes } from "../transport/health.ts";
import { JWKS_PATH, jwksRoutes } from "../transport/jwks.ts";
import { lazyRoute } from "../transport/lazy-route.ts";
import type { Route } from "../transport/route.ts";
import { VERSION } from "../version.ts";
import type { DialectOptions } from "./dialects.ts";

/** What the routes of a server are made of. */
export interface ServerRoutesOptions
  extends Pick<
    DialectOptions,
    "handler" | "extensionRequired" | "maxRequestBytes" | "a2a" | "shutdown" | "nextId" | "onError"
  > {
  /** What the card says of the agent. */
  readonly about: About;
  /** When the server started: since then its card is as it is. */
  readonly startedAt: Date;
  /** What the card and notifications are signed with. */
  readonly keys: SigningKeys;
  /** How clients may say who they are. */
  readonly security: SecurityOptions;
}

/** The ways to call a server, which the first caller loads. */
export const loadDialects = (): Promise<typeof import("./dialects.ts")> => import("./dialects.ts");

/** Every route of a server that listens at a URL; the first that matches a request gets it. */
export function serverRoutes(options: ServerRoutesOptions, baseUrl: string): Route[] {
  const { keys, shutdown, extensionRequired, security, startedAt } = options;
  const { unversionedCard: unversioned = "hybrid" } = options.a2a;
  const about = {
    ...options.about,
    version: VERSION,
    extensionRequired,
    pushNotifications: true,
    security,
  };
  const card = agentCard(baseUrl, about);
  const jwksUrl = `${baseUrl}${JWKS_PATH}`;
  return [
    ...healthRoutes(() => !shutdown.aborted),
    ...jwksRoutes(() => keys.publicKeys()),
    ...cardRoutes({
      card,
      baseUrl,
      modified: startedAt,
      unversioned,
      key: async () => ({ ...(await keys.current()), jwksUrl }),
    }),
    lazyRoute(async () => {
      const { dialectRoutes } = await loadDialects();
      return dialectRoutes({ ...options, ...about, card, baseUrl });
    }),
  ];
}
