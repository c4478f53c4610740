import type { FileAccess, ReadDecision } from "@devtool/policy";
import { SandboxGrants } from "@devtool/sandbox";
import type { Task } from "@devtool/schema";
import { Code, DevtoolError, quoted } from "@devtool/server/agent";
import { BackgroundProcesses } from "../tool/builtin/background-processes.ts";
import { builtinTools } from "../tool/builtin/builtin-tools.ts";
import { settleEdit } from "../tool/builtin/file-edit-effect.ts";
import { checkpointedTool } from "../tool/checkpoint/checkpointed-tool.ts";
import type { McpSession } from "../tool/mcp.ts";
import type { Tool } from "../tool/tool.ts";
import type { ToolSet } from "../tool/tool-set.ts";
import { Workspace } from "../tool/workspace.ts";
import type { AgentHost } from "./host.ts";

/** What the rules let tools show of the workspace. */
export interface ToolboxRules {
  readonly access: FileAccess;
  readonly decideReading: ReadDecision;
}

/** What a task's tools keep from turn to turn: the processes they left running, and what commands were granted. */
export class Toolbox implements AsyncDisposable {
  readonly #host: AgentHost;
  readonly #rules: ToolboxRules;
  readonly #background: BackgroundProcesses;
  readonly #grants = new SandboxGrants();

  constructor(host: AgentHost, rules: ToolboxRules) {
    this.#host = host;
    this.#rules = rules;
    const { services, limits } = host.shared;
    const { nextId } = services;
    this.#background = new BackgroundProcesses({ nextId, maxOutputBytes: limits.maxOutputBytes });
  }

  /** Opens the tools for one turn of a task: the built-in ones, those of the options and of MCP servers, and `more`. */
  async open(task: Task, more: readonly Tool[], signal: AbortSignal): Promise<ToolSet> {
    const workspace = new Workspace(task.settings?.workspacePath ?? "");
    try {
      const own = this.#ownTools(workspace).map(this.#checkpointedIn(task));
      const all = [...own, ...(await this.#mcpTools(task, signal)), ...more];
      const tools = all.filter(allowedIn(task));
      return {
        tools: new Map(tools.map((tool) => [tool.declaration.name, tool])),
        settle: (edit) => settleEdit(workspace, edit),
        [Symbol.asyncDispose]: () => Promise.resolve(workspace[Symbol.dispose]()),
      };
    } catch (reason) {
      workspace[Symbol.dispose]();
      throw reason;
    }
  }

  /** Ends the processes that commands left running. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#background[Symbol.asyncDispose]();
  }

  /** The built-in tools that the agent has, and those of its options, which replace built-in ones of their names. */
  #ownTools(workspace: Workspace): readonly Tool[] {
    const { tools = [], builtinTools: names } = this.#host.shared.options;
    const replaced = new Set(tools.map(({ declaration }) => declaration.name));
    const isBuiltin = ({ declaration: { name } }: Tool): boolean =>
      !replaced.has(name) && (names === undefined || names.includes(name));
    return [...builtinTools(workspace, this.#options()).filter(isBuiltin), ...tools];
  }

  #options(): Parameters<typeof builtinTools>[1] {
    const { environment, pathInWorkspaces, programs, shared, sandbox } = this.#host;
    const { limits } = shared;
    return {
      shell: {
        environment,
        pathInWorkspaces,
        programs,
        timeoutMs: limits.commandTimeoutMs,
        maxOutputBytes: limits.maxOutputBytes,
        sandbox,
        grants: this.#grants,
        background: this.#background,
      },
      outbound: this.#host.outbound,
      search: { access: this.#rules.access, searches: this.#host.searches, onNotice: shared.services.onNotice },
      decideReading: this.#rules.decideReading,
    };
  }

  #checkpointedIn({ principal, settings }: Task): (tool: Tool) => Tool {
    const { checkpoints } = this.#host;
    const place = { principal, workspacePath: settings?.workspacePath ?? "" };
    return (tool) => (checkpoints ? checkpointedTool(tool, { checkpoints, place }) : tool);
  }

  /** Throws `Code.FailedPrecondition` where a client brought MCP servers and the agent can use none. */
  async #mcpTools(task: Task, signal: AbortSignal): Promise<readonly Tool[]> {
    const { mcp } = this.#host;
    const session = mcpSessionOf(task);
    if (mcp) return mcp.tools(session, signal);
    const [brought] = session.clientServers;
    if (!brought) return [];
    throw new DevtoolError(
      "MCP servers need @devtool/mcp, which this agent was made without",
      Code.FailedPrecondition,
      { remedy: `leave out mcp_servers ${quoted(brought.name)}, or have the operator give codingAgent({ mcp })` },
    );
  }
}

/** Whose MCP servers a task has: the operator's and those that its client brought. */
export function mcpSessionOf({ principal, settings, sessionSettings }: Task): McpSession {
  const clientServers = sessionSettings?.mcpServers ?? [];
  return { principal, workspacePath: settings?.workspacePath ?? "", clientServers };
}

function allowedIn({ sessionSettings }: Task): (tool: Tool) => boolean {
  const allowed = new Set(sessionSettings?.allowedTools);
  return ({ declaration }) => allowed.size === 0 || allowed.has(declaration.name);
}
