import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { realPathOrMissing } from "@devtool/internal/real-path";
import { BudgetConfigSchema } from "@devtool/schema";
import type { AgentServices } from "../agent/agent.ts";
import { AgentSources } from "../discovery/agent-sources.ts";
import { Code, hasCode, quoted } from "../errors.ts";
import {
  forgetWorkspacesIn,
  WorkspaceRoots,
} from "../files/workspace-roots.ts";
import { createAgentConversations } from "../fleet/agent-conversations.ts";
import { InboxWorker } from "../fleet/inbox-worker.ts";
import { OpenTasks } from "../fleet/open-tasks.ts";
import { Retention } from "../fleet/retention.ts";
import { StoreLoadReader } from "../fleet/store-load.ts";
import { Takeover } from "../fleet/takeover.ts";
import { assertReachable } from "../fleet/workspace-reach.ts";
import { createAgentListHandler } from "../handler/agent-list-handler.ts";
import { createAuditHandler } from "../handler/audit-handler.ts";
import { createBackupHandler } from "../handler/backup-handler.ts";
import { assertRight, OPERATOR, principalOf } from "../handler/caller.ts";
import { createCommandHandler } from "../handler/command-handler.ts";
import { Exchanges } from "../handler/exchange.ts";
import {
  guardedHandler,
  type ServerMethods,
} from "../handler/guarded-handler.ts";
import { createPushHandler } from "../handler/push-handler.ts";
import type { RequestHandler } from "../handler/request-handler.ts";
import { StreamLimit } from "../handler/stream-limit.ts";
import { createTaskHandler } from "../handler/task-handler.ts";
import { createWorkspaceHandler } from "../handler/workspace-handler.ts";
import { keyFile } from "../keys/key-file.ts";
import { SigningKeys } from "../keys/signing-keys.ts";
import { Operations } from "../operations.ts";
import type { Clock } from "../push/clock.ts";
import type { ServerLoad } from "../server-load.ts";
import {
  limitsWithDefaults,
  type ServerLimits,
  type ServerSettings,
} from "../server-options.ts";
import type { Backlog } from "../store/task-inbox.ts";
import type { ServerStore, SharedTasks } from "../store/task-store.ts";
import { signTombstone } from "../store/tombstone.ts";
import { RecordedMessages } from "../task/recorded-messages.ts";
import { StoreFaults } from "../task/store-faults.ts";
import { Budgets } from "../task/turn-budget.ts";
import { hasRoles } from "../transport/auth/role-authenticator.ts";
import { createAgentDirectory } from "./agent-directory.ts";
import { createNotifications, type Notifications } from "./notifications.ts";
import { openStore } from "./open-store.ts";
import type { ServedAgents } from "./served-agents.ts";

/** The addresses of a server. */
export interface ServerAddress {
  /** The URL at which clients reach the server, without a trailing slash. */
  readonly publicUrl: string;
  /**
   * Returns the ports of the server that are known so far. Agents and
   * notifications must not reach them.
   */
  readonly ownPorts: () => readonly number[];
  /** Whether only this machine reaches the server; see `AgentServices`. */
  readonly isLocal: boolean;
}

/** Everything that a server takes from its environment. */
export interface Surroundings extends ServerAddress {
  readonly clock: Clock;
  /** Returns a number from 0 to 1. */
  readonly random: () => number;
  /** Returns a new unique id. */
  readonly nextId: () => string;
  readonly onNotice: (text: string) => void;
  readonly onError: (reason: unknown) => void;
}

/** The parts of a server, before its agents are open. */
interface ServerParts {
  /** The agents elsewhere that are registered, or in catalogs. */
  readonly sources: AgentSources;
  readonly store: ServerStore;
  readonly registry: OpenTasks;
  readonly handler: RequestHandler;
  readonly limits: ServerLimits;
  /**
   * Posts events to webhooks. Where servers share the store, each posts for the
   * tasks that it runs.
   */
  readonly notifications: Notifications;
  /** The keys that sign agent cards, notifications and deletions. */
  readonly keys: SigningKeys;
  /** What the server's observer hears. Undefined: there is none. */
  readonly operations: Operations | undefined;
  readonly budgets: Budgets;
}

/**
 * A server without its transports: its tasks, its agents and the handler of
 * requests.
 */
export interface ServerCore extends ServerParts, AsyncDisposable {
  /**
   * Ends the agents, and lets the other servers of a shared store take over the
   * tasks at once. The registry must be stopped.
   */
  handOver(): Promise<void>;

  /** Returns how much there is to do. */
  load(): Promise<ServerLoad>;
}

/**
 * Opens the store and the agents, and resumes the tasks that the last stop
 * interrupted. Where servers share the store, takes the requests that others
 * receive for its tasks, and the tasks of those that have ended.
 *
 * When one of them fails, closes those that are open and throws the error.
 */
export async function openCore(
  agents: ServedAgents,
  options: ServerSettings,
  surroundings: Surroundings,
): Promise<ServerCore> {
  const { onError, onNotice } = surroundings;
  const opened = await openStore(options);
  const { shared } = opened;
  const parts = createParts(agents, options, surroundings, opened);
  const { store, registry, notifications, budgets } = parts;
  const closing = new AbortController();
  let inbox: InboxWorker | undefined;
  let retaining: Promise<void> | undefined;
  let asking: Promise<void> | undefined;
  const dispose = async (): Promise<void> => {
    closing.abort();
    await retaining;
    await inbox?.[Symbol.asyncDispose]();
    await registry[Symbol.asyncDispose]();
    await asking;
    await notifications.notifier[Symbol.asyncDispose]();
    await agents[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
  };
  reportUnusedRole(options, onNotice);
  try {
    await agents.open(
      agentServices(options, surroundings, {
        conversations: createAgentConversations(registry, store, budgets),
        approvals: shared?.approvals,
        untoldCancels: shared?.untoldCancels,
        agents: createAgentDirectory(
          { ...options, ...surroundings, agents, sources: parts.sources },
          parts.handler,
        ),
      }),
    );
    if (await shared?.leases.announce(agents.approvalDigest)) {
      onNotice(OTHER_APPROVALS);
    }
    await registry.recover(agents.workingWhileAsking, onError);
    // An editor may take its time.
    if (agents.asksElsewhere) asking = registry.askElsewhere();
    retaining = options.retention
      ? new Retention(options.retention, {
          ...{ store: opened, registry, onError },
          ...{ clock: surroundings.clock, onNotice: surroundings.onNotice },
        }).watch(closing.signal)
      : reportSize(opened, surroundings, closing.signal);
    if (shared) inbox = joinFleet(parts, shared, surroundings, closing.signal);
  } catch (reason) {
    await dispose();
    throw reason;
  }
  const handOver = async (): Promise<void> => {
    if (!shared) return;
    closing.abort();
    // An agent's process may still work in the workspace, until it ends here.
    await agents[Symbol.asyncDispose]();
    await shared.leases.giveUp();
  };
  const storeLoad = new StoreLoadReader(opened, registry.feed);
  const load = (): Promise<ServerLoad> =>
    readLoad(parts, shared, storeLoad, surroundings.clock.now());
  return { ...parts, handOver, load, [Symbol.asyncDispose]: dispose };
}

/** Reports a budget for a role that no caller can have. */
function reportUnusedRole(
  { budget, authentication }: ServerSettings,
  onNotice: (text: string) => void,
): void {
  const limited = budget?.callers.find(({ roles }) => roles[0]);
  if (!limited || hasRoles(authentication)) return;
  const [role = ""] = limited.roles;
  onNotice(
    `budget.callers is for role ${quoted(role)}, which no caller has: set roles_claim or certificate_roles_attribute`,
  );
}

/** Reads how much there is to do. While the database is away, nobody knows. */
async function readLoad(
  { registry, notifications }: ServerParts,
  shared: SharedTasks | undefined,
  storeLoad: StoreLoadReader,
  nowMs: number,
): Promise<ServerLoad> {
  const { sequences, ...tasks } = await registry.load();
  const unknown = (): undefined => undefined;
  const [inbox, outbox, held] = await Promise.all([
    shared ? shared.inbox.backlog().catch(unknown) : EMPTY,
    notifications.notifier.backlog(sequences).catch(unknown),
    storeLoad.read(nowMs).catch(unknown),
  ]);
  return { ...tasks, inbox, outbox, store: held };
}

/** The inbox of a server that has its store alone. */
const EMPTY: Backlog = { count: 0, oldestMs: 0 };

/**
 * Takes the requests that the servers of a shared store leave for this one, and
 * watches until the signal aborts for tasks of servers that have ended.
 */
function joinFleet(
  { registry, notifications, operations }: ServerParts,
  shared: SharedTasks,
  { clock, onError, onNotice }: Surroundings,
  signal: AbortSignal,
): InboxWorker {
  const inbox = new InboxWorker({
    inbox: shared.inbox,
    registry,
    // The takeover looks as often, and reports an outage once.
    onError: (reason) => hasCode(reason, Code.Unavailable) || onError(reason),
    onPushConfig: async (session, id) => notifications.tasks?.take(session, id),
  });
  const takeover = new Takeover({
    ...{ registry, shared, clock, onError, onNotice, operations },
  });
  void takeover.watch(signal);
  return inbox;
}

/** The size in bytes of events from which an operator is told of it. */
const LARGE_BYTES = 100e6;

/** Says how large a store is that keeps all tasks, if it is large. */
async function reportSize(
  store: ServerStore,
  { clock, onNotice }: Surroundings,
  signal: AbortSignal,
): Promise<void> {
  let tasks = 0;
  let bytes = 0;
  try {
    // The first requests come before.
    await clock.sleep(1000, signal);
    for await (const task of store.readSizes()) {
      signal.throwIfAborted();
      tasks++;
      bytes += task.bytes;
    }
  } catch {
    // The server closes, or the requests that need the store say what is wrong.
    return;
  }
  if (bytes < LARGE_BYTES) return;
  onNotice(
    `the store has ${tasks} tasks with ${Math.round(bytes / 1e6)} MB of events, and none is deleted: see [retention] in docs/configuration.md, or devtool tasks prune`,
  );
}

const OTHER_APPROVALS =
  "another server of this store has another approval mode, other rules, another sandbox or another release, so it depends on the server that begins a conversation how far its tasks go without asking: give all the same approval_mode, policy_files and sandbox";

/** Creates the parts of a server around its open store. Nothing runs yet. */
function createParts(
  agents: ServedAgents,
  options: ServerSettings,
  surroundings: Surroundings,
  store: ServerStore,
): ServerParts {
  const limits = limitsWithDefaults(options.limits);
  const keys = signingKeys(options, surroundings.clock, store);
  const tasks = createTasks(agents, options, surroundings, { store, keys });
  const { registry, operations, budgets } = tasks;
  const notifications = createNotifications({
    ...surroundings,
    ...{ store, registry, keys, operations },
    pushTargets: options.pushTargets ?? [],
    issuer: surroundings.publicUrl,
  });
  const { nextId, clock, ownPorts, onNotice } = surroundings;
  const sources = new AgentSources({
    settings: options.agentRegistry ?? {},
    served: agents.names,
    isShared: store.shared !== undefined,
    dataDirectory: options.dataDirectory,
    now: () => clock.now(),
    ...{ ownPorts, onNotice },
  });
  const exchanges = createExchanges(agents, options, tasks, { limits, nextId });
  const handler = createHandlers(agents, options, exchanges, {
    ...{ store, limits, operations, sources },
    registrar: notifications.registrar,
  });
  const parts = { store, registry, handler, limits, notifications, keys };
  return { ...parts, operations, budgets, sources };
}

/** Returns the keys of a server: its own, or those of a shared store. */
function signingKeys(
  { dataDirectory }: ServerSettings,
  { now }: Clock,
  { shared }: ServerStore,
): SigningKeys {
  const ownKeys =
    dataDirectory === undefined
      ? undefined
      : keyFile(join(dataDirectory, "signing-keys.json"));
  return new SigningKeys({ now, storage: shared?.keys ?? ownKeys });
}

/** The tasks of a server, and what its requests need to begin them. */
interface Tasks {
  readonly store: ServerStore;
  readonly registry: OpenTasks;
  readonly messages: RecordedMessages;
  readonly roots: WorkspaceRoots;
  readonly operations: Operations | undefined;
  readonly budgets: Budgets;
}

function createTasks(
  agents: ServedAgents,
  options: ServerSettings,
  { clock, onError, onNotice }: Surroundings,
  { store, keys }: { readonly store: ServerStore; readonly keys: SigningKeys },
): Tasks {
  const { retryWindowMs = 10 * 60_000, observer } = options;
  const { shared } = store;
  const now = (): Date => new Date(clock.now());
  const operations =
    observer && new Operations(observer, agents.defaultName, onError);
  const messages = new RecordedMessages({ store, now, retryWindowMs, shared });
  const roots = rootsOf(options);
  const limits = options.budget ?? create(BudgetConfigSchema);
  const budgets = new Budgets(limits, store, now);
  const registry = new OpenTasks({
    store,
    createExecutor: (task) => agents.createExecutor(task),
    checksOf: (task) => agents.checksOf(task),
    modelNameOf: (task) => agents.modelNameOf(task),
    onError,
    operations,
    faults: new StoreFaults(onNotice),
    operatorMode: (name) => agents.operatorModeOf(name),
    now,
    messages: shared && messages,
    shared,
    assertReachable: (path) => assertReachable(path, roots),
    sign: async (record) => signTombstone(record, await keys.current()),
    forget: (taskId) => agents.forget(taskId),
    budgets,
  });
  return { store, registry, messages, roots, operations, budgets };
}

/** The directories that may contain workspaces, as they are at the start. */
function rootsOf({
  workspace,
  workspaceRoots,
}: Pick<ServerSettings, "workspace" | "workspaceRoots">): WorkspaceRoots {
  const roots = new WorkspaceRoots(
    workspaceRoots ?? (workspace === undefined ? [] : [workspace]),
  );
  forgetWorkspacesIn(roots);
  return roots;
}

function createExchanges(
  agents: ServedAgents,
  { workspace, dataDirectory, clientMcpServers = "http" }: ServerSettings,
  { store, registry, messages, roots }: Tasks,
  { limits, nextId }: { limits: ServerLimits; nextId: () => string },
): Exchanges {
  return new Exchanges({
    ...{ registry, store, messages, nextId, agents },
    maxParts: limits.maxParts,
    workspace,
    workspaceRoots: roots,
    dataDirectory,
    clientMcpServers,
  });
}

/** What the handlers of a server need beside its agents and exchanges. */
interface HandlerParts {
  readonly store: ServerStore;
  readonly limits: ServerLimits;
  readonly operations: Operations | undefined;
  readonly sources: AgentSources;
  readonly registrar: Notifications["registrar"];
}

/** Creates the handler of all requests, with the callers' rights checked. */
function createHandlers(
  agents: ServedAgents,
  {
    workspace = "",
    workspaceRoots = [],
    interceptors = [],
    dataDirectory,
  }: ServerSettings,
  exchanges: Exchanges,
  { store, limits, operations, sources, registrar }: HandlerParts,
): RequestHandler {
  const streams = new StreamLimit(limits.maxStreamsPerCaller);
  const methods: ServerMethods = {
    tasks: createTaskHandler(exchanges, store, streams, registrar),
    commands: createCommandHandler(exchanges, (name) =>
      agents.commandsOf(name),
    ),
    push: createPushHandler(exchanges, registrar),
    audit: createAuditHandler(store),
    backups: createBackupHandler(store, dataDirectory),
    agents: createAgentListHandler({
      ...{ workspace, workspaceRoots, sources },
      agents: agents.listed,
      modelsOf: (name, signal) => agents.modelsOf(name, signal),
    }),
    workspaces: createWorkspaceHandler(exchanges, (task) =>
      agents.agentOf(task),
    ),
  };
  return {
    ...guardedHandler(methods, { interceptors, operations }),
    streams,
    offers: async (taskId, context) => {
      assertRight(context, "read");
      using held = await exchanges.find(taskId, principalOf(context));
      return await agents.offersOf(held.handle.task, context.signal);
    },
    recipientOf: (message, context) =>
      exchanges.recipientOf(message, principalOf(context)),
    assertKept: (taskId, requested, context) =>
      exchanges.assertKept(taskId, requested, principalOf(context)),
  };
}

/** Returns the services that the agents of a server get. */
function agentServices(
  {
    workspace,
    workspaceRoots = [],
    dataDirectory,
    clientMcpServers = "http",
    authentication,
  }: ServerSettings,
  { clock, nextId, ownPorts, isLocal, onNotice }: Surroundings,
  kept: Pick<
    AgentServices,
    "agents" | "conversations" | "approvals" | "untoldCancels"
  >,
): AgentServices {
  return {
    workspace: workspace && realPathOrMissing(workspace),
    workspaceRoots,
    dataDirectory,
    clientMcpServers,
    operator: OPERATOR.principal,
    ...kept,
    ownPorts,
    isLocal,
    hasRoles: hasRoles(authentication),
    now: () => new Date(clock.now()),
    nextId,
    onNotice,
  };
}
