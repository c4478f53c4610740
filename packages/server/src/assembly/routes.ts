import type { ServiceImpl } from "@connectrpc/connect";
import type { BrowserAccessService } from "@devtool/schema";
import type { StaticSite } from "../static-site.ts";
import type { A2aV1 } from "../transport/a2a-v1/routes.ts";
import type { SecurityOptions } from "../transport/auth/security-schemes.ts";
import { connectRoutes } from "../transport/connect/routes.ts";
import { healthRoutes } from "../transport/http/health.ts";
import { Heartbeats } from "../transport/http/heartbeats.ts";
import { jwksRoutes } from "../transport/http/jwks.ts";
import {
  CARD_PATHS,
  nothingServed,
  publicRoute,
  type Route,
  routeOf,
} from "../transport/http/route.ts";
import { staticSiteRoutes } from "../transport/http/static-site.ts";
import { VERSION } from "../version.ts";
import { agentPath } from "./agent-path.ts";
import type { DialectOptions } from "./dialects.ts";
import type { DescribedAgent } from "./served-agents.ts";

/** Dependencies of `serverRoutes`. */
export interface ServerRoutesOptions
  extends Omit<DialectOptions, "about" | "agents" | "heartbeats"> {
  /** Whether clients must use the extension (CARD-1). */
  readonly extensionRequired: boolean;
  /** The description of the default agent. */
  readonly about: DescribedAgent;
  /**
   * The description of each agent by name, when clients can choose; empty when
   * there is one agent.
   */
  readonly agents: ReadonlyMap<string, DescribedAgent>;
  /** The ways to authenticate that agent cards list. */
  readonly security: SecurityOptions;
  /** Lets web browsers in. Undefined on a server without pages for them. */
  readonly browsers?: ServiceImpl<typeof BrowserAccessService> | undefined;
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
}

/** The time in milliseconds between two heartbeats of a stream. */
const HEARTBEAT_MS = 15_000;

/**
 * Creates all routes of a server. The first route that matches a request
 * handles it.
 *
 * The protocols of other clients than ours are loaded by the first request for
 * one, often that for an agent card.
 */
export function serverRoutes(options: ServerRoutesOptions): Route[] {
  const dialects = dialectOptionsOf(options);
  let a2aV1: Promise<A2aV1> | undefined;
  const loadA2aV1 = (): Promise<A2aV1> => {
    a2aV1 ??= import("./a2a-v1.ts").then(({ createA2aV1Of }) =>
      createA2aV1Of(dialects),
    );
    return a2aV1;
  };
  let routes: Promise<Route[]> | undefined;
  const loadRoutes = async (): Promise<Route[]> => {
    const { dialectRoutes } = await import("./dialects.ts");
    return dialectRoutes(dialects, await loadA2aV1());
  };
  const handle: Route["handle"] = async (request, response) => {
    routes ??= loadRoutes();
    const route = routeOf(await routes, request);
    if (!route) return nothingServed(request, response);
    return route.handle(request, response);
  };
  const cardPaths = ["", ...[...options.agents.keys()].map(agentPath)].flatMap(
    (prefix) => CARD_PATHS.map((path) => `${prefix}${path}`),
  );
  return [
    ...healthRoutes({ problem: options.problem, prove: options.prove }),
    ...(options.site ? staticSiteRoutes(options.site, options.siteUrl) : []),
    ...jwksRoutes(() => options.keys.publicKeys()),
    ...cardPaths.map((path) => publicRoute(path, handle)),
    ...connectRoutes({
      ...options,
      loadOtherServices: async () => {
        const { createSessionService } = await import(
          "../transport/sq-eq/service.ts"
        );
        const { service, queue } = await loadA2aV1();
        const sessions = createSessionService(options.handler);
        return { a2a: service, queue, sessions };
      },
    }),
    { name: "other protocols", access: "token", matches: () => true, handle },
  ];
}

/** Returns what the protocols of other clients depend on. */
function dialectOptionsOf(options: ServerRoutesOptions): DialectOptions {
  const { extensionRequired, security } = options;
  const inAllCards = {
    version: VERSION,
    extensionRequired,
    pushNotifications: true,
    security,
  };
  return {
    ...options,
    about: { ...options.about, ...inAllCards },
    agents: new Map(
      [...options.agents].map(([name, own]) => [
        name,
        { ...own, ...inAllCards },
      ]),
    ),
    heartbeats: new Heartbeats(HEARTBEAT_MS),
  };
}
