import { Code, DevtoolError } from "../errors.ts";
import { assertKnown } from "../handler/caller.ts";
import type { SigningKeys } from "../keys/signing-keys.ts";
import type { StaticSite } from "../static-site.ts";
import type {
  AcceptedCredentials,
  Dialect,
  DialectServices,
  Served,
} from "../transport/dialect.ts";
import { healthRoutes } from "../transport/http/health.ts";
import { Heartbeats } from "../transport/http/heartbeats.ts";
import { JWKS_PATH, jwksRoutes } from "../transport/http/jwks.ts";
import {
  type ProtectedResource,
  protectedResourceRoutes,
} from "../transport/http/protected-resource.ts";
import type { Route } from "../transport/http/route.ts";
import { staticSiteRoutes } from "../transport/http/static-site.ts";
import { VERSION } from "../version.ts";
import { defaultDialects } from "./default-dialects.ts";
import type { DescribedAgent } from "./served-agents.ts";

/** Dependencies of `serverRoutes`. */
export interface ServerRoutesOptions
  extends Omit<
    DialectServices,
    | "about"
    | "agent"
    | "agents"
    | "assertKnown"
    | "heartbeats"
    | "served"
    | "signingKey"
  > {
  /** Default: all of this package. */
  readonly dialects?: readonly Dialect[] | undefined;
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
  readonly security: AcceptedCredentials;
  /** The keys that sign agent cards and notifications. */
  readonly keys: SigningKeys;
  /** Returns why the server accepts no work; empty when it does. */
  readonly problem: () => Promise<string>;
  /** Returns the server's proof of its identity for a challenge. */
  readonly prove: (challenge: Uint8Array) => Uint8Array;
  /** Who issues tokens for the server. Default: nobody does. */
  readonly protectedResource?: ProtectedResource | undefined;
  /** Pages for web browsers. Default: none. */
  readonly site?: StaticSite | undefined;
  /**
   * The URL to which the site's pages at other names of loopback lead. Default:
   * they are served there, too.
   */
  readonly siteUrl?: string | undefined;
}

/** What a server serves. */
export interface ServedRoutes {
  /** The first route that matches a request handles it. */
  readonly routes: readonly Route[];
  /** What its dialects serve. */
  readonly served: readonly Served[];
}

/** The time in milliseconds between two heartbeats of a stream. */
const HEARTBEAT_MS = 15_000;

/**
 * Creates all routes of a server. Throws `Code.FailedPrecondition` when a
 * dialect throws, and `Code.InvalidArgument` for a route that is never reached.
 */
export function serverRoutes(options: ServerRoutesOptions): ServedRoutes {
  const { dialects = defaultDialects() } = options;
  const served: Served[] = [];
  const services = dialectServices(options, () => served);
  const routes = [
    ...healthRoutes({ problem: options.problem, prove: options.prove }),
    ...(options.site ? staticSiteRoutes(options.site, options.siteUrl) : []),
    ...jwksRoutes(() => options.keys.publicKeys()),
    ...(options.protectedResource
      ? protectedResourceRoutes(options.protectedResource)
      : []),
  ];
  for (const [index, dialect] of dialects.entries()) {
    const given = openDialect(dialect, services, index);
    const own = given.filter((each) => "matches" in each);
    for (const route of own) assertReachable(route, routes, index);
    served.push(...given);
    routes.push(...own);
  }
  return { routes, served };
}

/** Calls a dialect. Throws an error that names it when it throws. */
function openDialect(
  dialect: Dialect,
  services: DialectServices,
  index: number,
): readonly Served[] {
  try {
    return dialect(services);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const problem = `dialects[${index}] cannot be served: ${reason}`;
    throw new DevtoolError(problem, Code.FailedPrecondition, { cause });
  }
}

/** Throws for a route of a dialect whose path an earlier route takes. */
function assertReachable(
  { name, at }: Route,
  earlier: readonly Route[],
  index: number,
): void {
  const first =
    at && earlier.find(({ matches }) => matches(at.method, at.path));
  if (!first) return;
  const problem = `dialects[${index}]: ${name} is never reached: the route "${first.name}" takes it`;
  throw new DevtoolError(problem, Code.InvalidArgument, {
    remedy: "give its dialect before the other, or another path",
  });
}

/** Returns what the dialects of a server depend on. */
function dialectServices(
  options: ServerRoutesOptions,
  served: () => readonly Served[],
): DialectServices {
  const { extensionRequired, security, keys, baseUrl } = options;
  const inAllCards = { version: VERSION, extensionRequired, security };
  return {
    ...options,
    agent: "",
    about: { ...options.about, ...inAllCards },
    agents: new Map(
      [...options.agents].map(([name, own]) => [
        name,
        { ...own, ...inAllCards },
      ]),
    ),
    assertKnown,
    signingKey: async () => ({
      ...(await keys.current()),
      jwksUrl: `${baseUrl}${JWKS_PATH}`,
    }),
    heartbeats: new Heartbeats(HEARTBEAT_MS),
    served,
  };
}
