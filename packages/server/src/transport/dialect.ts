import type {
  ConnectRouter,
  HandlerContext,
  ServiceImpl,
} from "@connectrpc/connect";
import type { BrowserAccessService } from "@devtool/schema";
import type { About, Agent } from "../agent/agent.ts";
import type { RequestHandler } from "../handler/request-handler.ts";
import type { CurrentKey } from "../keys/signing-keys.ts";
import type { A2aOptions } from "./a2a/a2a-options.ts";
import type { MethodDialect } from "./a2a/method.ts";
import type { StreamEndpoint } from "./http/answer.ts";
import { type FailureForm, type Route, routesBelow } from "./http/route.ts";
import { answerCall, type RoutedCall } from "./http/routed-call.ts";

/**
 * One form in which a server shows its tasks: gives what it serves. Called once
 * while the server starts, so it loads in its routes what takes long to load.
 *
 * What it throws stops the start, as an agent that cannot be opened does.
 */
export type Dialect = (services: DialectServices) => readonly Served[];

/** What a dialect serves: a route, or a part of another dialect's. */
export type Served = Route | ServedRpcs | ServedMethods;

/** Services of Connect, which `connect()` serves in all of its protocols. */
export interface ServedRpcs {
  /** Returns what registers them, when one of them is first called. */
  readonly loadRpcs: () => Promise<(router: ConnectRouter) => void>;
}

/** Another form of the methods of A2A 0.3, which `a2a()` serves. */
export interface ServedMethods {
  readonly loadMethods: () => Promise<MethodDialect>;
}

/** The credentials that a server accepts beside the operator's token. */
export interface AcceptedCredentials {
  /**
   * The URL of the discovery document of the issuer whose tokens are accepted.
   * Default: no signed tokens are accepted.
   */
  readonly openIdConnectUrl?: string;

  /** Whether client certificates are accepted. */
  readonly certificates: boolean;

  /**
   * Whether requests without credentials are admitted. Default: they are
   * refused.
   */
  readonly anonymous?: "refuse" | "admit";
}

/** The description of an agent, and of what its server asks of clients. */
export interface ServedAgent extends About, Pick<Agent, "follows"> {
  /** The version of the server. */
  readonly version: string;

  /** Whether clients must use the extension (CARD-1). */
  readonly extensionRequired: boolean;

  readonly security: AcceptedCredentials;
}

/** What a server gives its dialects. */
export interface DialectServices extends StreamEndpoint {
  /** What clients can ask for, with their rights checked. */
  readonly handler: RequestHandler;

  /**
   * The agent that the routes are for; empty for the default agent, or the one
   * that a request names.
   */
  readonly agent: string;

  /** The description of that agent. */
  readonly about: ServedAgent;

  /**
   * The description of each agent by its name, when clients can choose; empty
   * when there is one agent.
   */
  readonly agents: ReadonlyMap<string, ServedAgent>;

  /**
   * The names of the agents that every caller may use, whatever its roles. What
   * needs no credentials names no others. Default: all.
   */
  readonly publicAgents?: ReadonlySet<string> | undefined;

  /** Throws `Code.Unauthenticated` for a call of an anonymous caller. */
  readonly assertKnown: (context: HandlerContext) => void;

  /** The URL at which clients reach the agent, without a trailing slash. */
  readonly baseUrl: string;

  /** The maximum size of a request in bytes. */
  readonly maxRequestBytes: number;

  /** Returns a new id that cannot be guessed. */
  readonly nextId: () => string;

  /** Called with each error that is not the client's fault. */
  readonly onError: (reason: unknown) => void;

  /** When the server started, and its agent cards last changed. */
  readonly startedAt: Date;

  /** Returns the key that signs agent cards now, and where its public key is. */
  readonly signingKey: () => Promise<CurrentKey & { readonly jwksUrl: string }>;

  /** The options of A2A. */
  readonly a2a: A2aOptions;

  /** Lets web browsers in. Undefined on a server without pages for them. */
  readonly browsers?: ServiceImpl<typeof BrowserAccessService> | undefined;

  /** Returns what all dialects of the server serve, once it has started. */
  readonly served: () => readonly Served[];
}

/** Answers a request to a route. */
type RouteHandler = (call: RoutedCall) => Promise<void>;

/**
 * Makes a route for authenticated callers.
 *
 * @param method a method of HTTP, or `*` for all
 * @param path a path, or a pattern from its `^` to its `$`
 * @param answer may throw: the client gets the status of the error's code, and
 * what is not its fault goes to `onError`
 * @param failureForm writes that error, and why a caller is refused before.
 * Default: `{"error": message}`
 */
export function route(
  services: DialectServices,
  method: string,
  path: string | RegExp,
  answer: RouteHandler,
  failureForm?: FailureForm,
): Route {
  const pattern = typeof path === "string" ? undefined : path;
  return {
    name: `${method} ${pattern ? pattern.source : path}`,
    access: "token",
    failureForm,
    at: typeof path === "string" ? { method, path } : undefined,
    matches: (requested, requestedPath) =>
      (method === "*" || requested === method) &&
      (pattern ? pattern.test(requestedPath) : requestedPath === path),
    handle: (request, response) =>
      answerCall({ request, response }, services, pattern, answer, failureForm),
  };
}

/**
 * Makes a route for everybody, as `route` does for authenticated callers: its
 * calls have no caller, so the handler refuses them.
 */
export function publicRoute(...args: Parameters<typeof route>): Route {
  return { ...route(...args), access: "public" };
}

/**
 * Returns routes for the default agent, and below `/agents/<name>` for each
 * agent that clients can choose.
 */
export function forEachAgent(
  services: DialectServices,
  routesFor: (services: DialectServices) => readonly Route[],
): Route[] {
  const named = [...services.agents].flatMap(([agent, about]) => {
    const prefix = `/agents/${agent}`;
    const baseUrl = `${services.baseUrl}${prefix}`;
    return routesBelow(
      prefix,
      routesFor({ ...services, agent, about, baseUrl }),
    );
  });
  return [...routesFor(services), ...named];
}
