import type { FileAccess, ReadDecision } from "@devtool/policy";
import { SandboxGrants } from "@devtool/sandbox";
import type { Task } from "@devtool/schema";
import { Code, DevtoolError, quoted } from "@devtool/server/agent";
import { BackgroundProcesses } from "../tool/builtin/background-processes.ts";
import { withCheckpoints } from "../tool/checkpoint/checkpointed-tool.ts";
import type { McpSession } from "../tool/mcp.ts";
import type { Tool, ToolSet } from "../tool/tool.ts";
import { Workspace } from "../tool/workspace.ts";
import type { AgentHost } from "./host.ts";

/**
 * The tools of one task.
 *
 * Keeps the background processes of the task, and the access that the user
 * granted to its commands, from turn to turn.
 */
export class Toolbox implements AsyncDisposable {
  readonly #host: AgentHost;
  readonly #access: FileAccess;
  readonly #decideReading: ReadDecision;
  readonly #background: BackgroundProcesses;
  readonly #grants = new SandboxGrants();

  /**
   * `access` and `decideReading` say which files the rules allow tools to show.
   */
  constructor(
    host: AgentHost,
    access: FileAccess,
    decideReading: ReadDecision,
  ) {
    this.#host = host;
    this.#access = access;
    this.#decideReading = decideReading;
    const { services, limits } = host.dependencies;
    this.#background = new BackgroundProcesses({
      nextId: services.nextId,
      maxOutputLength: limits.maxOutputLength,
    });
  }

  /**
   * Opens the tools for one turn: the agent's own tools, those of MCP servers,
   * and `commandTools`.
   *
   * Leaves out tools that the session does not allow. Throws
   * `Code.FailedPrecondition` if a client brought MCP servers and the agent
   * does not support them.
   */
  async open(
    task: Task,
    commandTools: readonly Tool[],
    signal: AbortSignal,
  ): Promise<ToolSet> {
    const workspace = new Workspace(task.settings?.workspacePath ?? "");
    let held: AsyncDisposable | undefined;
    const close = async (): Promise<void> => {
      workspace[Symbol.dispose]();
      await held?.[Symbol.asyncDispose]();
    };
    try {
      // A server that nobody asks anything does without the code of its tools.
      const { settleEdit } = await import("../tool/builtin/file-edit.ts");
      const own = await this.#ownTools(workspace, task, signal);
      const { mcp } = this.#host;
      const session = mcpSessionOf(task);
      const [server] = session.clientServers;
      if (!mcp && server) {
        throw new DevtoolError(
          "MCP servers need @devtool/mcp, which this agent was made without",
          Code.FailedPrecondition,
          {
            remedy: `leave out mcp_servers ${quoted(server.name)}, or have the operator give codingAgent({ mcp })`,
          },
        );
      }
      held = await mcp?.hold(session);
      const all = [
        ...own,
        ...((await mcp?.tools(session, signal)) ?? []),
        ...commandTools,
      ];
      const allowed = new Set(task.sessionSettings?.allowedTools);
      const tools = all.filter(
        ({ declaration }) =>
          allowed.size === 0 || allowed.has(declaration.name),
      );
      return {
        tools: new Map(tools.map((tool) => [tool.declaration.name, tool])),
        settle: (edit) => settleEdit(workspace, edit),
        [Symbol.asyncDispose]: close,
      };
    } catch (reason) {
      await close();
      throw reason;
    }
  }

  /** Ends the background processes. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#background[Symbol.asyncDispose]();
  }

  /**
   * The built-in tools and the tools of the options, which replace built-in
   * ones of the same name.
   */
  async #ownTools(
    workspace: Workspace,
    task: Task,
    signal: AbortSignal,
  ): Promise<readonly Tool[]> {
    const { id: taskId, principal, settings } = task;
    const {
      environment,
      pathInWorkspaces,
      programs,
      sandbox,
      outbound,
      searches,
      checkpoints,
    } = this.#host;
    const { options, limits, services } = this.#host.dependencies;
    const { builtinTools } = await import("../tool/builtin/builtin-tools.ts");
    const builtinAll = builtinTools(workspace, {
      shell: {
        environment,
        pathInWorkspaces,
        programs,
        timeoutMs: limits.commandTimeoutMs,
        maxOutputLength: limits.maxOutputLength,
        sandbox,
        grants: this.#grants,
        background: this.#background,
      },
      outbound,
      search: { access: this.#access, searches, onNotice: services.onNotice },
      decideReading: this.#decideReading,
    });
    const all = [
      ...builtinAll,
      ...(await this.#editorTools(workspace, task, signal)),
    ];
    const { tools = [], builtinTools: selected } = options;
    const replaced = new Set(tools.map(({ declaration }) => declaration.name));
    const builtin = all.filter(
      ({ declaration: { name } }) =>
        !replaced.has(name) &&
        (selected === undefined || selected.includes(name)),
    );
    if (!checkpoints) return [...builtin, ...tools];
    const workspacePath = settings?.workspacePath ?? "";
    const origin = { taskId, principal, workspacePath };
    return [...builtin, ...tools].map((tool) =>
      withCheckpoints(tool, checkpoints, origin),
    );
  }

  /** The tools of the user's editor: those that it offers now. */
  async #editorTools(
    workspace: Workspace,
    { principal, contextId, settings }: Task,
    signal: AbortSignal,
  ): Promise<readonly Tool[]> {
    const { ide } = this.#host;
    if (!ide.isFor(principal)) return [];
    const workspacePath = settings?.workspacePath ?? "";
    const place = { principal, contextId, workspacePath };
    const connect = (limit: AbortSignal) => ide.connect(place, limit);
    const found = await connect(signal);
    if (found.case === "none") return [];
    const { ideTools } = await import("../tool/builtin/ide-tools.ts");
    return ideTools(found.link, { workspace, connect, access: this.#access });
  }
}

/**
 * The session of a task for its MCP servers: the operator's, and those that its
 * client brought.
 */
export function mcpSessionOf({
  principal,
  sender,
  settings,
  sessionSettings,
}: Task): McpSession {
  const clientServers = sessionSettings?.mcpServers ?? [];
  return {
    principal,
    roles: sender?.roles,
    workspacePath: settings?.workspacePath ?? "",
    clientServers,
  };
}
