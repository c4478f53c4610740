import { realpathSync, statSync } from "node:fs";
import { isAbsolute, relative, resolve, sep } from "node:path";
import { create, equals } from "@bufbuild/protobuf";
import {
  type AgentSettings,
  AgentSettingsSchema,
  type McpServer,
  type SessionSettings,
  SessionSettingsSchema,
  type TaskCreated,
} from "@devtool/schema";
import { invalid, quoted } from "../errors.ts";
import type { TaskStore } from "../store/task-store.ts";
import { assertName } from "./name-limit.ts";

/** What a server allows sessions: their directories, MCP servers and agents. */
export interface SessionOptions {
  /** Where an agent works when its client names no workspace: an absolute path. Without it, a client must. */
  readonly workspace?: string;
  /** The directories in which workspaces may lie: absolute paths. */
  readonly workspaceRoots: readonly string[];
  /** Where the server keeps its tasks and its token: no workspace may hold it, or lie in it. */
  readonly dataDirectory?: string;
  /** Which MCP servers a client may add. */
  readonly clientMcpServers: "none" | "http" | "all";
  /** Gives the name of the agent that a session keeps which asks for one, or for none. Throws for an unknown one. */
  readonly settleAgent: (name: string) => string;
  /** Throws where the agent, by its settled name, takes no MCP servers of clients and there are some, given by their names. */
  readonly assertMcpServers: (agent: string, servers: readonly string[]) => void;
}

/** The settings of one session: the same for all tasks of a context. */
export type Settings = Pick<TaskCreated, "settings" | "sessionSettings">;

/**
 * Settles the settings of a new task: those of its context when it has tasks already, otherwise those of the request,
 * with the workspace checked (SESSION-1). Settings that differ from the context's are refused (SESSION-2).
 */
export function settleSettings(requested: Settings, earlier: Settings | undefined, options: SessionOptions): Settings {
  if (earlier) {
    assertUnchanged(requested, earlier, options);
    return earlier;
  }
  const workspacePath = resolveWorkspace(requested.settings, options);
  assertName("model", requested.sessionSettings?.model ?? "");
  const agent = options.settleAgent(requested.sessionSettings?.agent ?? "");
  const { mcpServers = [] } = requested.sessionSettings ?? {};
  assertAllowed(mcpServers, options);
  options.assertMcpServers(
    agent,
    mcpServers.map(({ name }) => name),
  );
  return {
    settings: create(AgentSettingsSchema, { workspacePath }),
    sessionSettings: { ...(requested.sessionSettings ?? create(SessionSettingsSchema)), agent },
  };
}

/** A server that is a command is a command: only the operator lets clients bring those. */
function assertAllowed(servers: readonly McpServer[], { clientMcpServers }: SessionOptions): void {
  const forbidden = servers.find(
    ({ transport }) => clientMcpServers === "none" || (clientMcpServers === "http" && transport.case === "stdio"),
  );
  if (!forbidden) return;
  const problem = clientMcpServers === "none" ? "clients may bring no MCP servers" : "clients may bring no commands";
  throw invalid(
    "mcp_servers",
    forbidden.name,
    `is not allowed, since ${problem}`,
    "leave it out, or have the operator set client_mcp_servers",
  );
}

/** What the tasks of a context have in common. */
export interface Session {
  readonly settings: Settings;
  /** Whether the client of the conversation knows the development-tool extension (CARD-3). */
  readonly extensionActive: boolean;
}

/** Finds the session of a context by its latest task; undefined when the principal has none there. */
export async function findSession(
  store: TaskStore,
  contextId: string,
  principal: string,
): Promise<Session | undefined> {
  const latest = await store.findLatest(principal, contextId);
  if (!latest) return undefined;
  const { extensionActive } = latest;
  for await (const { payload } of store.readEvents(latest.taskId, 0n)) {
    return payload.case === "created" ? { settings: payload.value, extensionActive } : undefined;
  }
  return undefined;
}

/** Throws when a request names settings that differ from those of its session (SESSION-2). */
export function assertUnchanged(
  requested: Settings,
  earlier: Settings,
  { settleAgent }: Pick<SessionOptions, "settleAgent">,
): void {
  const path = requested.settings?.workspacePath ?? "";
  const current = earlier.settings?.workspacePath ?? "";
  if (path !== "" && directoryAt(realPath(path)) !== current) {
    throw invalid(
      "workspace_path",
      path,
      `this session works in ${JSON.stringify(current)}`,
      "start a new context to change it",
    );
  }
  const agent = requested.sessionSettings?.agent ?? "";
  const kept = earlier.sessionSettings?.agent || settleAgent("");
  if (agent !== "" && kept !== "" && settleAgent(agent) !== kept) {
    const problem = `this session belongs to agent ${quoted(kept)}`;
    throw invalid("session_settings.agent", agent, problem, "start a new context for another");
  }
  if (requested.sessionSettings && differs(requested.sessionSettings, earlier.sessionSettings)) {
    throw invalid("session_settings", "", "differ from those of this session", "start a new context to change them");
  }
}

/** What is left out does not differ; the model may change with every message. */
function differs(requested: SessionSettings, earlier: SessionSettings | undefined): boolean {
  const { allowedTools, approvalMode, mcpServers } = earlier ?? create(SessionSettingsSchema);
  const kept = create(SessionSettingsSchema, {
    allowedTools: requested.allowedTools.length > 0 ? requested.allowedTools : allowedTools,
    approvalMode: requested.approvalMode || approvalMode,
    mcpServers: requested.mcpServers.length > 0 ? requested.mcpServers : mcpServers,
  });
  return !equals(
    SessionSettingsSchema,
    kept,
    create(SessionSettingsSchema, { allowedTools, approvalMode, mcpServers }),
  );
}

function resolveWorkspace(settings: AgentSettings | undefined, options: SessionOptions): string {
  const requested = settings?.workspacePath || options.workspace;
  if (requested === undefined) {
    throw invalid(
      "workspace_path",
      "",
      "is missing: this server has no default workspace, so the first message of a session names one",
    );
  }
  if (!isAbsolute(requested)) throw invalid("workspace_path", requested, "must be an absolute path");
  const { dataDirectory = "", workspaceRoots } = options;
  const real = realPaths([requested, dataDirectory, ...workspaceRoots]);
  const path = directoryAt(real.get(requested));
  const data = real.get(dataDirectory);
  const roots = workspaceRoots.map((root) => real.get(root));
  if (path === undefined) throw invalid("workspace_path", requested, "must be a directory that exists on the server");
  if (!roots.some((root) => root !== undefined && isInside(root, path))) {
    const known = workspaceRoots.join(", ");
    throw invalid(
      "workspace_path",
      requested,
      "is outside the allowed roots",
      `choose a directory in ${known}, or start the server with --root for another`,
    );
  }
  if (data !== undefined && (isInside(path, data) || isInside(data, path))) {
    throw invalid(
      "workspace_path",
      requested,
      "holds the server's own data, or lies in it",
      `choose a directory beside ${data}`,
    );
  }
  return path;
}

/** The real paths of some paths, each looked up once: the default workspace is as a rule the only root. */
function realPaths(paths: readonly string[]): ReadonlyMap<string, string | undefined> {
  return new Map([...new Set(paths)].map((path) => [path, realPath(path)]));
}

/** The real path of a path; undefined when nothing is there, as for an empty path. Takes microseconds, and a thread many more. */
function realPath(path: string): string | undefined {
  if (path === "") return undefined;
  try {
    return realpathSync.native(resolve(path));
  } catch {
    return undefined;
  }
}

/** A real path, when a directory is there. */
function directoryAt(real: string | undefined): string | undefined {
  const found = real === undefined ? undefined : statSync(real, { throwIfNoEntry: false });
  return found?.isDirectory() ? real : undefined;
}

/** Compares by path segments, never by prefix. */
function isInside(root: string, path: string): boolean {
  const way = relative(root, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}
