import { randomBytes, randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { Transport } from "@connectrpc/connect";
import { defined } from "@devtool/internal/json";
import {
  cardSecurity,
  openAccess,
  protectedResource,
} from "./assembly/callers.ts";
import type { InProcessOptions } from "./assembly/in-process.ts";
import { Readiness } from "./assembly/readiness.ts";
import { type ServerRoutesOptions, serverRoutes } from "./assembly/routes.ts";
import { ServedAgents } from "./assembly/served-agents.ts";
import {
  openCore,
  type ServerAddress,
  type ServerCore,
  type Surroundings,
} from "./assembly/server-core.ts";
import { createWebPush } from "./assembly/web-push.ts";
import { Code, DevtoolError } from "./errors.ts";
import { createBrowserAccessHandler } from "./handler/browser-access-handler.ts";
import { OPERATOR } from "./handler/caller.ts";
import { errorLines, noticeLine } from "./operator-notice.ts";
import type { Clock } from "./push/clock.ts";
import type { WebPushNotifier } from "./push/web-push-notifier.ts";
import {
  assertMountable,
  assertSafeExposure,
  isLocal,
  normalizedPublicUrl,
} from "./server-access.ts";
import type { ServerLoad } from "./server-load.ts";
import {
  type HandlerOptions,
  limitsWithDefaults,
  type ServerOptions,
  type ServerSettings,
} from "./server-options.ts";
import {
  agentsForAll,
  assertUsableRoles,
} from "./transport/auth/role-authenticator.ts";
import {
  type Answering,
  type HttpListener,
  listen,
} from "./transport/http/listener.ts";
import { Mount } from "./transport/http/mount.ts";
import { metadataUrl } from "./transport/http/protected-resource.ts";
import { PROOF_BYTES, serverProof } from "./transport/http/server-proof.ts";
import { CONNECTION_TIMEOUTS } from "./transport/http/sniffing-server.ts";

/** A running server, created by `createServer`. Disposing of it closes it. */
export interface DevtoolServer extends AsyncDisposable {
  /** The URL of the bound address: `http://host:port`, or `https:` with TLS. */
  readonly url: string;

  /**
   * The URL at which clients reach the server: the option `publicUrl`, or
   * `url`.
   */
  readonly publicUrl: string;

  /**
   * The operator's bearer token, which permits everything: the one of the
   * options, or a random one. Clients send it in the header `authorization:
   * Bearer TOKEN`.
   */
  readonly token: string;

  /**
   * The key with which the server proves its identity to local clients: 32
   * random bytes, new at each start. A client that has read the key and the
   * token from the discovery file sends a challenge to `/readyz` and compares
   * the response.
   */
  readonly proofKey: Uint8Array;

  /** The name of the default agent's model; empty when the agent names none. */
  readonly model: string;

  /**
   * Returns a transport of Connect to the server's services, within this
   * process: without a connection, and as the operator. Its streams end with
   * the server.
   */
  transport(): Promise<Transport>;

  /** Returns how much there is to do, for metrics. */
  load(): Promise<ServerLoad>;

  /**
   * Closes the server. It stops accepting requests, waits for running ones up
   * to `drainMs`, and interrupts its agents; tasks continue at the next start.
   * Streams end with `unavailable`, after which clients connect again. Further
   * calls return the promise of the first.
   */
  close(): Promise<void>;
}

/**
 * A server without a listener of its own, created by `createHandler`. Disposing
 * of it closes it.
 */
export interface DevtoolHandler
  extends Omit<DevtoolServer, "url" | "proofKey"> {
  /**
   * Handles the requests below the path of `publicUrl`. Register it with
   * `node:http` or `node:https`, or mount it in Express or a similar framework,
   * before any middleware that reads request bodies: a request whose body was
   * read gets status 500. After `close`, requests get status 503.
   */
  readonly listener: (
    request: IncomingMessage,
    response: ServerResponse,
  ) => void;
}

/**
 * Starts a server that offers agents over A2A 0.3, A2A 1.0, Connect, gRPC,
 * gRPC-Web and AG-UI on one port, or in the `dialects` of the options.
 *
 * ```ts
 * await using server = await createServer({ agents: { echo }, dataDirectory: "/var/lib/echo" });
 * console.log(server.url, server.token);
 * ```
 *
 * Throws `Code.InvalidArgument` when an option is invalid,
 * `Code.FailedPrecondition` when the port or the data directory cannot be used,
 * for instance because another server uses it, and the error of an agent or a
 * dialect that cannot be opened.
 */
export async function createServer(
  options: ServerOptions,
): Promise<DevtoolServer> {
  const agents = new ServedAgents(options);
  assertSafeExposure(options);
  const publicUrlOption =
    options.publicUrl === undefined
      ? undefined
      : normalizedPublicUrl(options.publicUrl);
  const listener = await listen(
    defined({
      host: options.host ?? "127.0.0.1",
      port: options.port ?? 0,
      fd: options.listenFd,
      tls: options.tls,
      allowedHosts: options.allowedHosts ?? [],
      allowedOrigins: options.allowedOrigins ?? [],
      ownPages: options.site !== undefined,
      limits: { ...limitsWithDefaults(options.limits), ...CONNECTION_TIMEOUTS },
      onError: errorReporter(options),
      publicUrl: publicUrlOption,
    }),
  );
  const { url, publicUrl } = listener;
  const running = await start(agents, options, {
    publicUrl,
    ownPorts: () => [portOf(url)],
    isLocal: isLocal(options),
  }).catch(async (reason) => {
    await listener.close(0);
    throw reason;
  });
  listener.serve(running.answering);
  const close = once(() => stop(running, listener, options.drainMs));
  const { token, proofKey, model, transport } = running;
  return {
    url,
    publicUrl,
    token,
    proofKey,
    model,
    transport,
    load: () => running.core.load(),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/**
 * Creates a server that is mounted in the HTTP server of an application. It
 * offers agents over A2A 0.3, A2A 1.0, Connect and gRPC-Web below the path of
 * `publicUrl`.
 *
 * gRPC is not available, because it needs HTTP/2 and a host of its own; agent
 * cards do not list it. The application is responsible for TLS and for limits
 * on connections. Requests need credentials as with `createServer`.
 *
 * Throws `Code.InvalidArgument` when an option is invalid,
 * `Code.FailedPrecondition` when the data directory cannot be used, for
 * instance because another server uses it, and the error of an agent that
 * cannot be opened.
 */
export async function createHandler(
  options: HandlerOptions,
): Promise<DevtoolHandler> {
  const agents = new ServedAgents(options);
  assertSafeExposure(options);
  assertMountable(options);
  const publicUrl = normalizedPublicUrl(options.publicUrl);
  // The application's ports become known with the first request at each of
  // them.
  const ports = new Set([portOf(publicUrl)]);
  const running = await start(agents, options, {
    publicUrl,
    ownPorts: () => [...ports],
    isLocal: false,
  });
  const mount = new Mount({
    publicUrl,
    ...running.answering,
    allowedHosts: options.allowedHosts ?? [],
    allowedOrigins: [
      ...(options.allowedOrigins ?? []),
      ...(options.site ? [new URL(publicUrl).origin] : []),
    ],
    onError: errorReporter(options),
    onPort: (port) => ports.add(port),
  });
  const close = once(() => stop(running, mount, options.drainMs));
  const { token, model, transport } = running;
  return {
    listener: (request, response) => mount.answer(request, response),
    publicUrl,
    token,
    model,
    transport,
    load: () => running.core.load(),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/**
 * A server that is ready to handle requests, before anything listens for them.
 */
interface Running {
  readonly core: ServerCore;
  /** Undefined on a server without pages for web browsers. */
  readonly webPush: WebPushNotifier | undefined;
  readonly answering: Answering;
  /** Aborted when the server closes. */
  readonly shutdown: AbortController;
  readonly token: string;
  readonly proofKey: Uint8Array;
  readonly model: string;
  readonly transport: () => Promise<Transport>;
}

/**
 * Opens the store and the agents, resumes interrupted tasks, and creates the
 * routes.
 */
async function start(
  agents: ServedAgents,
  options: ServerSettings,
  place: ServerAddress,
): Promise<Running> {
  assertUsableRoles(options.authentication ?? {}, agents.names);
  const onError = errorReporter(options);
  const token = options.token ?? randomBytes(32).toString("base64url");
  const proofKey = randomBytes(PROOF_BYTES);
  const shutdown = new AbortController();
  const { authenticator, browsers } = await openAccess(
    options,
    token,
    CLOCK,
    shutdown.signal,
  );
  const surroundings: Surroundings = {
    ...place,
    clock: CLOCK,
    random: Math.random,
    nextId: randomUUID,
    onNotice: options.onNotice ?? ((text) => console.error(noticeLine(text))),
    onError,
  };
  const core = await openCore(agents, options, surroundings);
  const webPush =
    browsers && createWebPush(browsers, core, options, surroundings);
  const { routes, served } = await closeOnFailure(core, () =>
    serverRoutes({
      ...routesOptions(agents, options, place, core, shutdown.signal),
      browsers:
        browsers &&
        webPush &&
        createBrowserAccessHandler(browsers, webPush, core.operations),
      onError,
      prove: (challenge) => serverProof({ token, proofKey }, challenge),
    }),
  );
  const resource = protectedResource(options, place.publicUrl);
  void core.notifications.notifier.start().catch(onError);
  webPush?.start();
  return {
    core,
    webPush,
    answering: {
      routes,
      authenticator: {
        authenticate: (request) => authenticator.authenticate(request),
        resourceMetadata: resource && metadataUrl(resource),
      },
      operations: core.operations,
    },
    shutdown,
    token,
    proofKey,
    model: agents.default.model ?? "",
    transport: () =>
      transportTo(core, { served, shutdown: shutdown.signal, onError }),
  };
}

/** Returns what the routes of a server depend on, beside its callers. */
function routesOptions(
  agents: ServedAgents,
  options: ServerSettings,
  { publicUrl }: ServerAddress,
  { store, handler, keys, limits, operations }: ServerCore,
  shutdown: AbortSignal,
): Omit<ServerRoutesOptions, "browsers" | "onError" | "prove"> {
  const readiness = new Readiness({
    ...{ store, shutdown, operations },
    now: CLOCK.now,
  });
  return {
    dialects: options.dialects,
    handler,
    keys,
    maxRequestBytes: limits.maxRequestBytes,
    about: agents.described,
    agents: agents.choices,
    a2a: options.a2a ?? {},
    extensionRequired: options.extensionRequired ?? false,
    security: cardSecurity(options),
    protectedResource: protectedResource(options, publicUrl),
    site: options.site,
    // A proxy in front may call the server by any name.
    siteUrl: options.publicUrl === undefined ? publicUrl : undefined,
    publicAgents: agentsForAll(options.authentication?.roles),
    baseUrl: publicUrl,
    startedAt: new Date(),
    shutdown,
    nextId: randomUUID,
    problem: () => readiness.problem(),
  };
}

/** Closes an open server when what comes next fails. */
async function closeOnFailure<T>(core: ServerCore, next: () => T): Promise<T> {
  try {
    return next();
  } catch (reason) {
    await core[Symbol.asyncDispose]();
    throw reason;
  }
}

/** The clock of the machine. Its timers do not keep the process running. */
const CLOCK: Clock = {
  now: Date.now,
  monotonic: () => performance.now(),
  sleep: (ms, signal) => delay(ms, undefined, { signal, ref: false }),
};

/**
 * Closes a server in an order that lets clients see how their exchanges end:
 * refuses new requests, stops the tasks, ends open subscriptions and hands the
 * tasks over, then closes connections and the store.
 */
async function stop(
  { core, webPush, shutdown }: Running,
  front: Pick<HttpListener, "stopTaking" | "close">,
  drainMs = 10_000,
): Promise<void> {
  front.stopTaking();
  await core.registry.stop();
  // Clients resume a stream that ends with this error, in every protocol. After
  // an abort without a reason, clients of A2A would not.
  shutdown.abort(
    new DevtoolError("the server stops", Code.Unavailable, {
      remedy: "connect again when it runs",
    }),
  );
  // Clients that take their time to leave do not keep the tasks from the other
  // servers.
  await Promise.all([
    front.close(drainMs),
    core.handOver(),
    webPush?.[Symbol.asyncDispose](),
  ]);
  await core[Symbol.asyncDispose]();
}

/**
 * Creates a transport to the services of a server for the operator. The
 * libraries are loaded on use.
 */
async function transportTo(
  { handler }: ServerCore,
  own: Omit<InProcessOptions, "handler">,
): Promise<Transport> {
  const { inProcessTransport } = await import("./assembly/in-process.ts");
  return inProcessTransport({ ...own, handler }, OPERATOR);
}

/**
 * The time in milliseconds in which an error that is equal to the last one is
 * not printed again.
 */
const REPEATED_ERROR_MS = 60_000;

function errorReporter({ onError }: ServerSettings): (reason: unknown) => void {
  if (onError) return onError;
  let last = { lines: "", atMs: 0 };
  return (reason) => {
    const lines = errorLines(reason);
    // An outage repeats one error with each attempt.
    const isRepeated =
      lines === last.lines && CLOCK.now() - last.atMs < REPEATED_ERROR_MS;
    if (isRepeated) return;
    last = { lines, atMs: CLOCK.now() };
    console.error(lines);
  };
}

function portOf(url: string): number {
  const { port, protocol } = new URL(url);
  return Number(port) || (protocol === "https:" ? 443 : 80);
}

/**
 * Returns a function that runs another one at its first call, and returns the
 * same promise at each call.
 */
function once(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => (running ??= run());
}
