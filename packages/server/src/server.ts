import { randomBytes, randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { authenticationOf, securityOf } from "./assembly/callers.ts";
import { Readiness } from "./assembly/readiness.ts";
import { serverRoutes } from "./assembly/routes.ts";
import { ServedAgents } from "./assembly/served-agents.ts";
import { openCore, type ServerCore, type Surroundings } from "./assembly/server-core.ts";
import { Code, DevtoolError } from "./errors.ts";
import { errorLines, noticeLine } from "./operator-notice.ts";
import { assertMountable, assertSafeExposure, publicUrlOf } from "./server-access.ts";
import { type HandlerOptions, limitsOf, type ServerOptions, type ServerSettings } from "./server-options.ts";
import { createAuthenticator } from "./transport/auth/authentication.ts";
import { type Answering, type HttpListener, listen } from "./transport/http/listener.ts";
import { Mount } from "./transport/http/mount.ts";
import { PROOF_BYTES, serverProof } from "./transport/http/server-proof.ts";
import { CONNECTION_TIMEOUTS } from "./transport/http/sniffing-server.ts";

/** A server that runs. */
export interface DevtoolServer extends AsyncDisposable {
  /** Where it listens: `http://host:port`, or `https:` with TLS. */
  readonly url: string;
  /** Where clients reach it: `publicUrl` of its options, else `url`. */
  readonly publicUrl: string;
  /** What every request needs as bearer token. */
  readonly token: string;
  /** With the token it makes the key with which the server proves that it is this one (`Readiness.proof`): 32 random bytes. */
  readonly proofKey: Uint8Array;
  /** The name of the model that answers in sessions that choose none; empty for an agent that names none. */
  readonly model: string;
  /** Takes no new work, lets requests end, leaves every task so that the next start goes on with it. */
  close(): Promise<void>;
}

/** A server without a listener of its own, for the HTTP server of an application. */
export interface DevtoolHandler extends Omit<DevtoolServer, "url" | "proofKey"> {
  /**
   * Answers the requests below the path of `publicUrl`: a listener of `node:http` or `node:https`, and what Express and its like
   * mount. Must come before anything that reads bodies.
   */
  readonly listener: (request: IncomingMessage, response: ServerResponse) => void;
}

/**
 * Starts a server: A2A 0.3 and 1.0, Connect, gRPC and gRPC-Web on one port, with agents behind it.
 *
 * Throws a `DevtoolError` when an option cannot be used, an agent cannot be opened, the port is taken or the data
 * directory is in use.
 */
export async function createServer(options: ServerOptions): Promise<DevtoolServer> {
  const agents = new ServedAgents(options);
  assertSafeExposure(options);
  const listener = await listenAt(options);
  const { url, publicUrl } = listener;
  const running = await start(agents, options, { publicUrl, ownPorts: () => [portOf(url)] }).catch(async (reason) => {
    await listener.close(0);
    throw reason;
  });
  listener.serve(running.answering);
  const close = once(() => stop(running, listener, options.drainMs));
  return { ...running.shown, url, publicUrl, close, [Symbol.asyncDispose]: close };
}

/**
 * Makes a server without a listener of its own: A2A 0.3 and 1.0, Connect and gRPC-Web below the path of `publicUrl`, in the HTTP
 * server of an application. gRPC needs HTTP/2 and a host of its own, so it is not there, and no card lists it. Limits of
 * connections and TLS are the application's, and so is who may reach it: the token counts here as everywhere.
 *
 * Throws a `DevtoolError` when an option cannot be used, an agent cannot be opened or the data directory is in use.
 */
export async function createHandler(options: HandlerOptions): Promise<DevtoolHandler> {
  const agents = new ServedAgents(options);
  assertSafeExposure(options);
  assertMountable(options);
  const publicUrl = publicUrlOf(options);
  const ports = new Set([portOf(publicUrl)]);
  const running = await start(agents, options, { publicUrl, ownPorts: () => [...ports] });
  const mount = new Mount({
    ...{ publicUrl, ...running.answering, ...guardLists(options), onError: onErrorOf(options) },
    onPort: (port) => ports.add(port),
  });
  const close = once(() => stop(running, mount, options.drainMs));
  const listener: DevtoolHandler["listener"] = (request, response) => mount.answer(request, response);
  const { token, model } = running.shown;
  return { listener, publicUrl, token, model, close, [Symbol.asyncDispose]: close };
}

/** A server that answers as soon as requests come to it. */
interface Running {
  readonly core: ServerCore;
  readonly answering: Answering;
  readonly shutdown: AbortController;
  readonly shown: Pick<DevtoolServer, "token" | "proofKey" | "model">;
}

async function start(
  agents: ServedAgents,
  options: ServerSettings,
  place: Pick<Surroundings, "publicUrl" | "ownPorts">,
): Promise<Running> {
  const onError = onErrorOf(options);
  const token = options.token ?? randomBytes(32).toString("base64url");
  const proofKey = randomBytes(PROOF_BYTES);
  const authenticator = await createAuthenticator(token, authenticationOf(options), () => new Date());
  const shutdown = new AbortController();
  const core = await openCore(agents, options, {
    ...place,
    clock: { now: Date.now, sleep: (ms, signal) => delay(ms, undefined, { signal, ref: false }) },
    random: Math.random,
    nextId: randomUUID,
    onNotice: options.onNotice ?? ((text) => console.error(noticeLine(text))),
    onError,
  });
  const readiness = new Readiness({ store: core.store, shutdown: shutdown.signal, now: Date.now });
  const { extensionRequired = false, a2a = {} } = options;
  const routes = serverRoutes(
    {
      ...{ handler: core.handler, keys: core.keys, maxRequestBytes: core.limits.maxRequestBytes },
      ...{ about: agents.default.about, agents: agents.choices, a2a, extensionRequired },
      ...{
        security: securityOf(options),
        startedAt: new Date(),
        shutdown: shutdown.signal,
        nextId: randomUUID,
        onError,
      },
      problem: () => readiness.problem(),
      prove: (challenge) => serverProof({ token, proofKey }, challenge),
    },
    place.publicUrl,
  );
  void core.notifications.notifier.start().catch(onError);
  const shown = { token, proofKey, model: agents.default.model ?? "" };
  return { core, shutdown, shown, answering: { routes, authenticator } };
}

function onErrorOf({
  onError = (reason: unknown): void => console.error(errorLines(reason)),
}: ServerSettings): (reason: unknown) => void {
  return onError;
}

function listenAt(options: ServerSettings): Promise<HttpListener> {
  const publicUrl = options.publicUrl === undefined ? undefined : publicUrlOf({ publicUrl: options.publicUrl });
  return listen({
    host: options.host ?? "127.0.0.1",
    port: options.port ?? 0,
    ...(options.tls && { tls: options.tls }),
    ...guardLists(options),
    limits: { ...limitsOf(options.limits), ...CONNECTION_TIMEOUTS },
    onError: onErrorOf(options),
    ...(publicUrl !== undefined && { publicUrl }),
  });
}

/** The lists of what the guard lets in. */
function guardLists({ allowedHosts = [], allowedOrigins = [] }: ServerSettings): GuardLists {
  return { allowedHosts, allowedOrigins };
}

type GuardLists = Required<Pick<ServerSettings, "allowedHosts" | "allowedOrigins">>;

function portOf(url: string): number {
  const { port, protocol } = new URL(url);
  return Number(port) || (protocol === "https:" ? 443 : 80);
}

/**
 * Takes nothing more, then stops the tasks, so that the streams of their exchanges end with what became of them; then ends
 * the streams without end, and last what answers requests.
 */
async function stop(
  { core, shutdown }: Running,
  front: Pick<HttpListener, "stopTaking" | "close">,
  drainMs = 10_000,
): Promise<void> {
  front.stopTaking();
  await core.registry.stop();
  // Clients take a stream up again that ends so, over every binding; for an abort without a reason those of A2A would not.
  shutdown.abort(new DevtoolError("the server stops", Code.Unavailable, { remedy: "connect again when it runs" }));
  await front.close(drainMs);
  await core[Symbol.asyncDispose]();
}

function once(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => (running ??= run());
}
