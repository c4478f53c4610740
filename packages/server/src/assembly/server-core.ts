import { join } from "node:path";
import type { AgentServices } from "../agent/agent.ts";
import { createAuditHandler } from "../handler/audit-handler.ts";
import { OPERATOR } from "../handler/caller.ts";
import { createCommandHandler } from "../handler/command-handler.ts";
import { type ExchangeOptions, Exchanges } from "../handler/exchange.ts";
import { guardedHandler } from "../handler/guarded-handler.ts";
import { createOffersHandler } from "../handler/offers-handler.ts";
import { createPushHandler } from "../handler/push-handler.ts";
import type { RequestHandler } from "../handler/request-handler.ts";
import { StreamLimit } from "../handler/stream-limit.ts";
import { createTaskHandler } from "../handler/task-handler.ts";
import type { Clock } from "../push/clock.ts";
import { ObservedTaskStore } from "../push/observed-task-store.ts";
import { SigningKeys } from "../push/signing-keys.ts";
import { limitsOf, type ServerLimits, type ServerSettings } from "../server-options.ts";
import type { TaskStore } from "../store/task-store.ts";
import { createAgentConversations } from "../task/agent-conversations.ts";
import { SessionRegistry } from "../task/session-registry.ts";
import { createNotifications, type Notifications } from "./notifications.ts";
import { openStore } from "./open-store.ts";
import { reportedExecutors } from "./reported-executor.ts";
import type { ServedAgents } from "./served-agents.ts";

/** What a server takes from the world around it. */
export interface Surroundings {
  /** Where clients reach the server, without a slash at its end. */
  readonly publicUrl: string;
  /** The ports of this server as far as they are known: agents and notifications reach none of them. */
  readonly ownPorts: () => readonly number[];
  readonly clock: Clock;
  readonly random: () => number;
  /** Makes ids that are never the same twice. */
  readonly nextId: () => string;
  readonly onNotice: (text: string) => void;
  readonly onError: (reason: unknown) => void;
}

/** A server without its transports: its tasks, its agents and what answers calls. */
export interface ServerCore extends AsyncDisposable {
  readonly store: TaskStore;
  readonly registry: SessionRegistry;
  readonly handler: RequestHandler;
  readonly limits: ServerLimits;
  readonly notifications: Notifications;
  readonly keys: SigningKeys;
}

/** Opens the store and the agents, and lets the tasks go on that the last stop cut. Throws what one of them throws. */
export async function openCore(
  agents: ServedAgents,
  options: ServerSettings,
  surroundings: Surroundings,
): Promise<ServerCore> {
  const { clock, onError } = surroundings;
  const now = (): Date => new Date(clock.now());
  const opened = await openStore(options);
  const store = new ObservedTaskStore(opened);
  const createExecutor = reportedExecutors((task) => agents.createExecutor(task), onError);
  const registry = new SessionRegistry({ store, createExecutor, now });
  const keys = keysIn(options.dataDirectory, clock);
  const { pushTargets = [] } = options;
  const { publicUrl, ...given } = surroundings;
  const notifications = createNotifications({
    ...{ ...given, store, registry, keys, pushTargets },
    configs: opened.pushConfigs,
    issuer: () => publicUrl,
  });
  store.observe((taskId) => notifications.notifier.wake(taskId));
  const limits = limitsOf(options.limits);
  const exchanges = exchangesFor(options, {
    ...{ registry, store, now, maxParts: limits.maxParts, nextId: surroundings.nextId },
    settleAgent: (name) => agents.settle(name),
    assertMcpServers: (name, servers) => agents.assertMcpServers(name, servers),
  });
  const streams = new StreamLimit(limits.maxStreamsPerCaller);
  const handler = guardedHandler({
    streams,
    tasks: createTaskHandler(exchanges, store, streams, notifications.registrar),
    commands: createCommandHandler(exchanges, (name) => agents.commandsOf(name)),
    push: createPushHandler(exchanges, notifications.registrar),
    audit: createAuditHandler(store),
    offers: createOffersHandler(exchanges, (task, signal) => agents.offersOf(task, signal)),
  });
  const dispose = async (): Promise<void> => {
    await registry[Symbol.asyncDispose]();
    await notifications.notifier[Symbol.asyncDispose]();
    await agents[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
  };
  try {
    await agents.open(servicesFor(options, surroundings, createAgentConversations(registry, store)));
    await registry.recover();
  } catch (reason) {
    await dispose();
    throw reason;
  }
  return { store, registry, handler, limits, notifications, keys, [Symbol.asyncDispose]: dispose };
}

/** What agents get of their server. */
function servicesFor(
  options: ServerSettings,
  { clock, nextId, ownPorts, onNotice }: Surroundings,
  conversations: AgentServices["conversations"],
): AgentServices {
  return {
    workspace: options.workspace,
    workspaceRoots: options.workspaceRoots ?? [],
    dataDirectory: options.dataDirectory,
    clientMcpServers: options.clientMcpServers ?? "http",
    operator: OPERATOR.principal,
    conversations,
    ownPorts,
    now: () => new Date(clock.now()),
    nextId,
    onNotice,
  };
}

function keysIn(dataDirectory: string | undefined, { now }: Clock): SigningKeys {
  return new SigningKeys({
    now,
    ...(dataDirectory !== undefined && { file: join(dataDirectory, "signing-keys.json") }),
  });
}

function exchangesFor(
  options: ServerSettings,
  parts: Pick<
    ExchangeOptions,
    "registry" | "store" | "now" | "maxParts" | "settleAgent" | "assertMcpServers" | "nextId"
  >,
): Exchanges {
  const { workspace, dataDirectory, retryWindowMs = 10 * 60_000, clientMcpServers = "http" } = options;
  return new Exchanges({
    ...parts,
    retryWindowMs,
    workspaceRoots: options.workspaceRoots ?? (workspace === undefined ? [] : [workspace]),
    clientMcpServers,
    ...(dataDirectory !== undefined && { dataDirectory }),
    ...(workspace !== undefined && { workspace }),
  });
}
