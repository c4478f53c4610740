import { ApprovalMode } from "@devtool/schema";
import { type Agent, assertWorkspaceInPlace } from "@devtool/server/agent";
import { CodexExecutor, type CodexHost } from "./codex-executor.ts";
import { listCodexModels } from "./codex-models.ts";
import type { CodexOptions } from "./codex-options.ts";
import { checkCommand, MCP_LIST } from "./mcp-list.ts";
import { ThreadPool } from "./thread-pool.ts";

const DEFAULT_COMMAND = ["codex", "app-server"];
const REQUEST_TIMEOUT_MS = 30_000;
const MAX_UNREAD = 20_000;
const MAX_IDLE_PROCESSES = 4;

/**
 * Creates an agent that is OpenAI's Codex, through its app-server.
 *
 * The program `codex` must be installed and logged in; a task waits in
 * `auth-required` when OpenAI refuses the login. Each conversation is a
 * thread of Codex, which its app-server keeps under `CODEX_HOME`; the id of the
 * thread is in the task's log, so that a restart continues it.
 */
export function codexAgent(options: CodexOptions = {}): Agent {
  return {
    about: {
      name: "Codex",
      description: "Reads, changes and runs the code of a workspace.",
      inputModes: ["text/plain", "application/json", "image/*"],
    },
    model: options.model,
    // Each turn names its policies, so any mode counts from the next turn on.
    follows: ["approval_mode", "model", "mcp_servers", "turn", "fork"],
    open: ({ now, onNotice, operator, workspace, workspaceRoots }) => {
      const pool = new ThreadPool(
        options.maxIdleProcesses ?? MAX_IDLE_PROCESSES,
      );
      const [command = "", ...args] = options.command ?? DEFAULT_COMMAND;
      const host: CodexHost = {
        options,
        command: {
          command,
          args,
          environment: options.environment ?? ownEnvironment(),
        },
        limits: {
          requestTimeoutMs: options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS,
          maxUnread: MAX_UNREAD,
        },
        pool,
        now,
        onNotice,
        operator,
      };
      return {
        approvals: {
          rules: "",
          ...options.permission?.basis,
          approvalMode: options.approvalMode ?? ApprovalMode.DEFAULT,
        },
        commands: {
          list: async () => [MCP_LIST],
          check: async ({ commandPath }) => checkCommand(commandPath),
        },
        createExecutor: () => new CodexExecutor(host),
        models: async (signal) => {
          assertWorkspaceInPlace(workspace ?? "");
          const workingDirectory =
            workspace ?? workspaceRoots[0] ?? process.cwd();
          return listCodexModels(
            { ...host.command, workingDirectory },
            host.limits,
            signal,
          );
        },
        [Symbol.asyncDispose]: async () => {
          await pool[Symbol.asyncDispose]();
          await options.ide?.[Symbol.asyncDispose]?.();
        },
      };
    },
  };
}

/** Returns the environment of this process without the server's own secrets. */
function ownEnvironment(): Record<string, string> {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !name.startsWith("DEVTOOL_"),
  );
  return Object.fromEntries(
    inherited.map(([name, value = ""]) => [name, value]),
  );
}
