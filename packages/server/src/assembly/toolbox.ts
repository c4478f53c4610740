import type { Task } from "@devtool/schema";
import { BackgroundProcesses } from "../tool/builtin/background-processes.ts";
import { builtinTools } from "../tool/builtin/builtin-tools.ts";
import { settleEdit } from "../tool/builtin/file-edit-effect.ts";
import { checkpointedTool } from "../tool/checkpoint/checkpointed-tool.ts";
import { SandboxGrants } from "../tool/sandbox/sandbox-grants.ts";
import type { Tool } from "../tool/tool.ts";
import type { ToolSet } from "../tool/tool-set.ts";
import { Workspace } from "../tool/workspace.ts";
import type { AgentHost } from "./host.ts";

/** What a task's tools keep from turn to turn: the processes they left running, and what commands were granted. */
export class Toolbox implements AsyncDisposable {
  readonly #host: AgentHost;
  readonly #background: BackgroundProcesses;
  readonly #grants = new SandboxGrants();

  constructor(host: AgentHost) {
    this.#host = host;
    const { nextId, limits } = host.shared;
    this.#background = new BackgroundProcesses({ nextId, maxOutputBytes: limits.maxOutputBytes });
  }

  /** Opens the tools for one turn of a task: the server's own, those of its MCP servers, and `more`. */
  async open(task: Task, more: readonly Tool[], signal: AbortSignal): Promise<ToolSet> {
    const workspace = new Workspace(task.settings?.workspacePath ?? "");
    try {
      const own = builtinTools(workspace, this.#options());
      const all = [...own.map(this.#checkpointedIn(task)), ...(await this.#mcpTools(task, signal)), ...more];
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

  #options(): Parameters<typeof builtinTools>[1] {
    const { limits, environment } = this.#host.shared;
    return {
      shell: {
        environment,
        timeoutMs: limits.commandTimeoutMs,
        maxOutputBytes: limits.maxOutputBytes,
        sandbox: this.#host.sandbox,
        grants: this.#grants,
        background: this.#background,
      },
      outbound: this.#host.outbound,
    };
  }

  #checkpointedIn({ settings }: Task): (tool: Tool) => Tool {
    const { checkpoints } = this.#host;
    const workspacePath = settings?.workspacePath ?? "";
    return (tool) => (checkpoints ? checkpointedTool(tool, { checkpoints, workspacePath }) : tool);
  }

  async #mcpTools(task: Task, signal: AbortSignal): Promise<readonly Tool[]> {
    const servers = this.#host.serversOf(task);
    if (servers.length === 0) return [];
    const { principal, settings } = task;
    const found = await this.#host.mcp.get({ principal, servers, workspacePath: settings?.workspacePath ?? "" });
    return found.tools(signal);
  }
}

function allowedIn({ sessionSettings }: Task): (tool: Tool) => boolean {
  const allowed = new Set(sessionSettings?.allowedTools);
  return ({ declaration }) => allowed.size === 0 || allowed.has(declaration.name);
}
