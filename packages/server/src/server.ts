import { randomBytes, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Task } from "@devtool/schema";
import { createScriptedModel } from "./agent/scripted/scripted-model.ts";
import { createConversations } from "./assembly/conversations.ts";
import type { AgentHostOptions } from "./assembly/host.ts";
import { LazyAgents } from "./assembly/lazy-agents.ts";
import { LazyNotifications } from "./assembly/lazy-notifications.ts";
import type { NotificationsOptions } from "./assembly/notifications.ts";
import { openStore } from "./assembly/open-store.ts";
import { loadDialects, serverRoutes } from "./assembly/routes.ts";
import { createAuditHandler } from "./handler/audit-handler.ts";
import { OPERATOR } from "./handler/caller.ts";
import { createCommandHandler } from "./handler/command-handler.ts";
import { type ExchangeOptions, Exchanges } from "./handler/exchange.ts";
import { guardedHandler } from "./handler/guarded-handler.ts";
import { createPushHandler } from "./handler/push-handler.ts";
import type { RequestHandler } from "./handler/request-handler.ts";
import { createTaskHandler } from "./handler/task-handler.ts";
import { ObservedTaskStore } from "./push/observed-task-store.ts";
import type { PushRegistrar } from "./push/push-registrar.ts";
import { SigningKeys } from "./push/signing-keys.ts";
import { type About, assertLetsInRightly, limitsOf, type ServerLimits, type ServerOptions } from "./server-options.ts";
import type { TaskStore } from "./store/task-store.ts";
import { SessionRegistry } from "./task/session-registry.ts";
import { type AuthenticationOptions, createAuthenticator } from "./transport/auth/authentication.ts";
import type { SecurityOptions } from "./transport/auth/security-schemes.ts";
import { type HttpListener, listen } from "./transport/http.ts";

/** A server that runs. */
export interface DevtoolServer extends AsyncDisposable {
  /** Where it listens: `http://host:port`. */
  readonly url: string;
  /** What every request needs as bearer token. */
  readonly token: string;
  /** The name of the model that answers in sessions that choose none. */
  readonly model: string;
  /** Loads what a start leaves out and the first task needs, so that it does not wait for it. */
  warmUp(): Promise<void>;
  /** Takes no new work, lets requests end, leaves every task so that the next start goes on with it. */
  close(): Promise<void>;
}

/**
 * Starts a server: A2A 0.3, Connect, gRPC and gRPC-Web on one port, with an agent behind it.
 *
 * Throws a `DevtoolError` when an option cannot be used, the port is taken or the data directory is in use.
 */
export async function createServer(options: ServerOptions = {}): Promise<DevtoolServer> {
  assertLetsInRightly(options);
  const parts = await assemble(options);
  const token = options.token ?? randomBytes(32).toString("base64url");
  const shutdown = new AbortController();
  const listener = await listenAt({ ...parts, options, token, shutdown: shutdown.signal }).catch(
    async (reason: unknown) => {
      await parts.store[Symbol.asyncDispose]();
      throw reason;
    },
  );
  void parts.notifications.start().catch(onErrorOf(options));
  const close = once(() => stop({ ...parts, listener, shutdown, drainMs: options.drainMs ?? 10_000 }));
  const warmUp = () => loadForTasks(parts.agents);
  return { url: listener.url, token, model: parts.model, warmUp, close, [Symbol.asyncDispose]: close };
}

/** What cannot be loaded is told to the first who needs it. */
async function loadForTasks(agents: LazyAgents): Promise<void> {
  await Promise.allSettled([agents.get(), loadDialects()]);
}

interface Parts {
  readonly store: TaskStore;
  readonly agents: LazyAgents;
  readonly registry: SessionRegistry;
  readonly handler: RequestHandler;
  readonly limits: ServerLimits;
  readonly notifications: LazyNotifications;
  readonly keys: SigningKeys;
  /** Is told where it listens, once it does. */
  readonly urls: string[];
  readonly model: string;
}

async function assemble(options: ServerOptions): Promise<Parts> {
  const limits = limitsOf(options.limits);
  const opened = await openStore(options.dataDirectory);
  const store = new ObservedTaskStore(opened, (taskId) => notifications.wake(taskId));
  const now = (): Date => new Date();
  const urls: string[] = [];
  const keys = keysIn(options.dataDirectory);
  const shared = sharedBy(options, { limits, ownPorts: () => portsOf(urls), now });
  const agents = new LazyAgents(async () => {
    if (options.createAgent) {
      const { givenAgents } = await import("./assembly/given-agents.ts");
      return givenAgents(options.createAgent);
    }
    const { openAgents } = await import("./assembly/agents.ts");
    return openAgents(shared, createConversations({ registry, store }, shared.model));
  });
  const createExecutor = options.createAgent ?? ((task: Task) => agents.createExecutor(task));
  const registry = new SessionRegistry({ store, createExecutor, now });
  // Before the first append, which tells it.
  const notifications = notificationsFor(options, {
    store,
    configs: opened.pushConfigs,
    registry: () => registry,
    keys,
    urls,
  });
  const registrarOf = async (): Promise<PushRegistrar> => (await notifications.get()).registrar;
  // Rules and a sandbox that cannot be used must stop the start; where there are none, agents can wait for the first task.
  if (hasRules(options) || options.sandbox === "bwrap") await agents.get();
  await registry.recover();
  const exchanges = exchangesFor(options, { registry, store, now, maxParts: limits.maxParts });
  const handler: RequestHandler = guardedHandler({
    tasks: createTaskHandler(exchanges, store, registrarOf),
    commands: createCommandHandler(exchanges, async () => (await agents.get()).commands),
    push: createPushHandler(exchanges, registrarOf),
    audit: createAuditHandler(store),
  });
  return { store, agents, registry, handler, notifications, keys, limits, urls, model: shared.model.name };
}

function portsOf(urls: readonly string[]): number[] {
  return urls.map((url) => Number(new URL(url).port));
}

function notificationsFor(
  options: ServerOptions,
  {
    urls,
    ...parts
  }: Pick<NotificationsOptions, "store" | "configs" | "registry" | "keys"> & { readonly urls: readonly string[] },
): LazyNotifications {
  const { pushTargets = [] } = options;
  return new LazyNotifications(parts.configs, async () => {
    const { createNotifications } = await import("./assembly/notifications.ts");
    return createNotifications({
      ...parts,
      pushTargets,
      ownPorts: () => portsOf(urls),
      issuer: () => urls[0] ?? "",
      clock: { now: Date.now, sleep: (ms, signal) => delay(ms, undefined, { signal, ref: false }) },
      random: Math.random,
      nextId: randomUUID,
      onError: onErrorOf(options),
    });
  });
}

function keysIn(dataDirectory: string | undefined): SigningKeys {
  return new SigningKeys({
    now: Date.now,
    ...(dataDirectory !== undefined && { file: join(dataDirectory, "signing-keys.json") }),
  });
}

function exchangesFor(
  options: ServerOptions,
  parts: Pick<ExchangeOptions, "registry" | "store" | "now" | "maxParts">,
): Exchanges {
  const { workspace, dataDirectory, retryWindowMs = 10 * 60_000, clientMcpServers = "http" } = options;
  return new Exchanges({
    ...parts,
    nextId: randomUUID,
    retryWindowMs,
    workspaceRoots: options.workspaceRoots ?? (workspace === undefined ? [] : [workspace]),
    clientMcpServers,
    ...(dataDirectory !== undefined && { dataDirectory }),
    ...(workspace !== undefined && { workspace }),
  });
}

function onErrorOf({
  onError = (reason: unknown): void => console.error(reason),
}: ServerOptions): (reason: unknown) => void {
  return onError;
}

function hasRules({ dataDirectory, policyFiles = [] }: ServerOptions): boolean {
  return policyFiles.length > 0 || (dataDirectory !== undefined && existsSync(join(dataDirectory, "policy.toml")));
}

function sharedBy(
  options: ServerOptions,
  { limits, ownPorts, now }: Pick<AgentHostOptions, "limits" | "ownPorts" | "now">,
): AgentHostOptions {
  return {
    options,
    limits,
    model: options.model ?? createScriptedModel(),
    principal: OPERATOR.principal,
    environment: commandEnvironment(),
    now,
    ownPorts,
    nextId: randomUUID,
    onNotice: options.onNotice ?? ((text) => console.error(`devtool: ${text}`)),
  };
}

/** What commands may know of our environment: nothing that could hold a secret. */
function commandEnvironment(): Record<string, string> {
  const names = ["PATH", "HOME", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ", "USER", "LOGNAME", "SHELL"];
  const given = names.flatMap((name): [string, string][] => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries(given);
}

interface Listening extends Parts {
  readonly options: ServerOptions;
  readonly token: string;
  readonly shutdown: AbortSignal;
}

async function listenAt(listening: Listening): Promise<HttpListener> {
  const { handler, keys, limits, options, token, shutdown, urls } = listening;
  const onError = onErrorOf(options);
  const { maxRequestBytes } = limits;
  const { extensionRequired = false, about = CODING_AGENT, a2a = {} } = options;
  const shared = {
    handler,
    keys,
    maxRequestBytes,
    extensionRequired,
    about,
    a2a,
    startedAt: new Date(),
    shutdown,
    nextId: randomUUID,
    onError,
    security: securityOf(options),
  };
  return listen({
    host: options.host ?? "127.0.0.1",
    port: options.port ?? 0,
    authenticator: await createAuthenticator(token, authenticationOf(options), () => new Date()),
    ...(options.tls && { tls: options.tls }),
    allowedHosts: options.allowedHosts ?? [],
    allowedOrigins: options.allowedOrigins ?? [],
    limits: { ...limits, headersTimeoutMs: 10_000, requestTimeoutMs: 30_000 },
    onError,
    routes: (baseUrl) => {
      urls.push(baseUrl);
      return serverRoutes(shared, baseUrl);
    },
  });
}

/** What the card says of how clients are known: what the guard takes. */
function securityOf({ authentication: { jwt } = {}, tls, anonymous = "refuse" }: ServerOptions): SecurityOptions {
  return { certificates: tls?.clientAuthorities !== undefined, anonymous, ...(jwt && { issuer: jwt.issuer }) };
}

const CODING_AGENT: About = {
  name: "devtool",
  description: "A coding agent that works in a workspace and asks before it changes anything.",
};

/** Asking for certificates is what makes them count. */
function authenticationOf({
  authentication: { jwt, certificateRights = [] } = {},
  tls,
  anonymous = "refuse",
}: ServerOptions): AuthenticationOptions {
  return {
    anonymous,
    ...(jwt && { jwt }),
    ...(tls?.clientAuthorities !== undefined && { certificates: { rights: certificateRights } }),
  };
}

interface Stopping extends Parts {
  readonly listener: HttpListener;
  readonly shutdown: AbortController;
  readonly drainMs: number;
}

/** Tasks first, so that the streams of their exchanges end with what became of them; then the streams without end. */
async function stop({ registry, agents, notifications, store, listener, shutdown, drainMs }: Stopping): Promise<void> {
  await registry[Symbol.asyncDispose]();
  await notifications[Symbol.asyncDispose]();
  await agents[Symbol.asyncDispose]();
  shutdown.abort();
  await listener.close(drainMs);
  await store[Symbol.asyncDispose]();
}

function once(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => (running ??= run());
}
