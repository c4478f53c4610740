import type { About } from "../agent/agent.ts";
import type { SigningKeys } from "../push/signing-keys.ts";
import { cardRoutes } from "../transport/a2a-v1/card-routes.ts";
import { agentCard } from "../transport/a2a-v03/card.ts";
import type { SecurityOptions } from "../transport/auth/security-schemes.ts";
import { healthRoutes } from "../transport/http/health.ts";
import { JWKS_PATH, jwksRoutes } from "../transport/http/jwks.ts";
import { type Route, routesBelow } from "../transport/http/route.ts";
import { VERSION } from "../version.ts";
import { agentPath, type DialectOptions, dialectRoutes } from "./dialects.ts";

/** What the routes of a server are made of. */
export interface ServerRoutesOptions
  extends Pick<
    DialectOptions,
    "handler" | "extensionRequired" | "maxRequestBytes" | "a2a" | "shutdown" | "nextId" | "onError"
  > {
  /** What the card says of the agent. */
  readonly about: About;
  /** What each agent says of itself, by name, where clients can choose; empty where there is one. */
  readonly agents: ReadonlyMap<string, About>;
  /** When the server started: since then its card is as it is. */
  readonly startedAt: Date;
  /** What the card and notifications are signed with. */
  readonly keys: SigningKeys;
  /** Why the server takes no work; empty when it does. */
  readonly problem: () => Promise<string>;
  /** Answers the challenge of a client that wants to know who listens here. */
  readonly prove: (challenge: Uint8Array) => Uint8Array;
  /** How clients may say who they are. */
  readonly security: SecurityOptions;
}

/** Every route of a server that clients reach at a URL; the first that matches a request gets it. */
export function serverRoutes(options: ServerRoutesOptions, baseUrl: string): Route[] {
  const { keys, extensionRequired, security, startedAt } = options;
  const { unversionedCard: unversioned = "hybrid" } = options.a2a;
  const said = { version: VERSION, extensionRequired, pushNotifications: true, security };
  const about = { ...options.about, ...said };
  const agents = new Map([...options.agents].map(([name, one]) => [name, { ...one, ...said }]));
  const card = agentCard(baseUrl, about);
  const jwksUrl = `${baseUrl}${JWKS_PATH}`;
  const published = {
    baseUrl,
    modified: startedAt,
    unversioned,
    key: async () => ({ ...(await keys.current()), jwksUrl }),
  };
  const cardsOfAgents = [...agents].flatMap(([tenant, one]) => {
    const prefix = agentPath(tenant);
    return routesBelow(prefix, cardRoutes({ ...published, card: agentCard(`${baseUrl}${prefix}`, one), tenant }));
  });
  return [
    ...healthRoutes({ problem: options.problem, prove: options.prove }),
    ...jwksRoutes(() => keys.publicKeys()),
    ...cardRoutes({ ...published, card }),
    ...cardsOfAgents,
    ...dialectRoutes({ ...options, ...about, agents, card, baseUrl }),
  ];
}
