import type { SigningKeys } from "../push/signing-keys.ts";
import type { StaticSite } from "../static-site.ts";
import { cardRoutes } from "../transport/a2a-v1/card-routes.ts";
import { agentCard } from "../transport/a2a-v03/card.ts";
import type { SecurityOptions } from "../transport/auth/security-schemes.ts";
import { healthRoutes } from "../transport/http/health.ts";
import { JWKS_PATH, jwksRoutes } from "../transport/http/jwks.ts";
import { type Route, routesBelow } from "../transport/http/route.ts";
import { staticSiteRoutes } from "../transport/http/static-site.ts";
import { VERSION } from "../version.ts";
import { agentPath, type DialectOptions, dialectRoutes } from "./dialects.ts";
import type { DescribedAgent } from "./served-agents.ts";

/** Dependencies of `serverRoutes`. */
export interface ServerRoutesOptions
  extends Pick<
    DialectOptions,
    | "handler"
    | "browsers"
    | "baseUrl"
    | "maxRequestBytes"
    | "a2a"
    | "shutdown"
    | "nextId"
    | "onError"
  > {
  /** Whether clients must use the extension (CARD-1). */
  readonly extensionRequired: boolean;
  /** The description of the default agent. */
  readonly about: DescribedAgent;
  /**
   * The description of each agent by name, when clients can choose; empty when
   * there is one agent.
   */
  readonly agents: ReadonlyMap<string, DescribedAgent>;
  /**
   * The time when the server started, which is when its agent cards last
   * changed.
   */
  readonly startedAt: Date;
  /** The keys that sign agent cards and notifications. */
  readonly keys: SigningKeys;
  /** Returns why the server accepts no work; empty when it does. */
  readonly problem: () => Promise<string>;
  /** Returns the server's proof of its identity for a challenge. */
  readonly prove: (challenge: Uint8Array) => Uint8Array;
  /** Pages for web browsers. Default: none. */
  readonly site?: StaticSite | undefined;
  /**
   * The URL to which the site's pages at other names of loopback lead. Default:
   * they are served there, too.
   */
  readonly siteUrl?: string | undefined;
  /** The ways to authenticate that agent cards list. */
  readonly security: SecurityOptions;
}

/**
 * Creates all routes of a server. The first route that matches a request
 * handles it.
 */
export function serverRoutes(options: ServerRoutesOptions): Route[] {
  const { baseUrl, keys, extensionRequired, security, startedAt } = options;
  const inAllCards = {
    version: VERSION,
    extensionRequired,
    pushNotifications: true,
    security,
  };
  const about = { ...options.about, ...inAllCards };
  const agents = new Map(
    [...options.agents].map(([name, own]) => [name, { ...own, ...inAllCards }]),
  );
  const card = agentCard(baseUrl, about);
  const published = {
    baseUrl,
    modified: startedAt,
    unversioned: options.a2a.unversionedCard ?? "hybrid",
    grpc: options.a2a.grpcInCard ?? false,
    key: async () => ({
      ...(await keys.current()),
      jwksUrl: `${baseUrl}${JWKS_PATH}`,
    }),
  };
  const agentCardRoutes = [...agents].flatMap(([tenant, own]) => {
    const prefix = agentPath(tenant);
    return routesBelow(
      prefix,
      cardRoutes({
        ...published,
        card: agentCard(`${baseUrl}${prefix}`, own),
        tenant,
      }),
    );
  });
  return [
    ...healthRoutes({ problem: options.problem, prove: options.prove }),
    ...(options.site ? staticSiteRoutes(options.site, options.siteUrl) : []),
    ...jwksRoutes(() => keys.publicKeys()),
    ...cardRoutes({ ...published, card }),
    ...agentCardRoutes,
    ...dialectRoutes({ ...options, about, agents, card }),
  ];
}
