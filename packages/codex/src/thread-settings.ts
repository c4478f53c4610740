import type { JsonObject } from "@bufbuild/protobuf";
import { defined } from "@devtool/internal/json";
import {
  ApprovalMode,
  approvalModeOf,
  type McpServer,
  stricterMode,
  type Task,
} from "@devtool/schema";
import { type Turn, turnDirectory } from "@devtool/server/agent";
import type { CodexOptions } from "./codex-options.ts";
import { narrowRights, type TurnRights } from "./turn-rights.ts";

/**
 * When Codex asks, and what its sandbox allows, by approval mode. No mode
 * leaves the sandbox.
 */
const SETTINGS: Readonly<Record<ApprovalMode, Omit<TurnRights, "mode">>> = {
  [ApprovalMode.UNSPECIFIED]: {
    approvalPolicy: "untrusted",
    sandbox: "workspace-write",
  },
  [ApprovalMode.PLAN]: { approvalPolicy: "never", sandbox: "read-only" },
  [ApprovalMode.DEFAULT]: {
    approvalPolicy: "untrusted",
    sandbox: "workspace-write",
  },
  [ApprovalMode.AUTO_EDIT]: {
    approvalPolicy: "on-request",
    sandbox: "workspace-write",
  },
  [ApprovalMode.YOLO]: { approvalPolicy: "never", sandbox: "workspace-write" },
};

const READ_ONLY: JsonObject = { type: "readOnly", networkAccess: false };
const WORKSPACE_WRITE: JsonObject = {
  type: "workspaceWrite",
  writableRoots: [],
  networkAccess: false,
  excludeTmpdirEnvVar: false,
  excludeSlashTmp: false,
};

/**
 * Returns the parameters of `thread/start`, `thread/resume` and `thread/fork`
 * for the session of a task.
 */
export function threadSettings(options: CodexOptions, task: Task): JsonObject {
  const { settings, sessionSettings } = task;
  const { approvalPolicy, sandbox } = SETTINGS[modeOf(options, task)];
  const servers = (sessionSettings?.mcpServers ?? []).map(
    (server) => [server.name, mcpConfig(server)] as const,
  );
  const config =
    servers.length > 0
      ? { ...options.config, mcp_servers: Object.fromEntries(servers) }
      : options.config;
  // Codex's configuration may ask for a review by a model, which cannot replace
  // the user's approval.
  return defined({
    cwd: settings?.workspacePath || undefined,
    approvalPolicy,
    sandbox,
    approvalsReviewer: "user",
    model: modelOf(options, { sessionSettings }),
    config,
  });
}

/**
 * Returns the approval mode for the permission policy: that of the session, or
 * of the turn if it has settings of its own.
 */
export function permissionMode(
  options: CodexOptions,
  { task, prompt }: Pick<Turn, "task" | "prompt">,
): ApprovalMode {
  if (prompt?.turnSettings) return turnRights(options, { task, prompt }).mode;
  return approvalModeOf(task);
}

/**
 * Returns what Codex may do in a turn: what the session allows, narrowed by the
 * settings of the turn.
 */
function turnRights(
  options: CodexOptions,
  { task, prompt }: Pick<Turn, "task" | "prompt">,
): TurnRights {
  const mode = modeOf(options, task);
  return narrowRights({ ...SETTINGS[mode], mode }, prompt?.turnSettings);
}

/**
 * Returns the parameters of `turn/start` for the next turn of a task. A loaded
 * thread keeps those of its last turn, so each turn names all of them.
 *
 * @param opened the policy with which Codex opened the thread for writing,
 *   which the operator's configuration of Codex may have widened; empty if the
 *   thread was opened for reading only
 */
export function turnSettings(
  options: CodexOptions,
  { task, prompt }: Pick<Turn, "task" | "prompt">,
  opened: JsonObject,
): JsonObject {
  const { approvalPolicy, sandbox } = turnRights(options, { task, prompt });
  const isKnown =
    opened.type === "workspaceWrite" || opened.type === "readOnly";
  const writing = isKnown ? opened : WORKSPACE_WRITE;
  return defined({
    cwd: turnDirectory(task, prompt) || undefined,
    approvalPolicy,
    approvalsReviewer: "user",
    sandboxPolicy: sandbox === "read-only" ? READ_ONLY : writing,
  });
}

/**
 * Returns the model that a session has chosen, or else the operator's.
 * Undefined for that of Codex's configuration.
 */
export function modelOf(
  { model }: CodexOptions,
  { sessionSettings }: Pick<Task, "sessionSettings">,
): string | undefined {
  return sessionSettings?.model || model;
}

/** Returns how far a task goes without asking (SESSION-3). */
function modeOf(
  { approvalMode = ApprovalMode.DEFAULT }: CodexOptions,
  task: Task,
): ApprovalMode {
  return stricterMode(approvalMode, approvalModeOf(task));
}

/**
 * Returns the configuration of an MCP server (`mcp_servers.<name>` of Codex).
 */
function mcpConfig(server: McpServer): JsonObject {
  const { includeTools, excludeTools } = server;
  return defined({
    ...mcpTransport(server),
    enabled_tools: includeTools.length > 0 ? includeTools : undefined,
    disabled_tools: excludeTools.length > 0 ? excludeTools : undefined,
  });
}

function mcpTransport({ transport }: McpServer): JsonObject {
  switch (transport.case) {
    case "stdio": {
      const { command, args, env, workingDirectory } = transport.value;
      return defined({
        command,
        args,
        env,
        cwd: workingDirectory || undefined,
      });
    }
    case "http":
    case "sse":
      return {
        url: transport.value.url,
        http_headers: transport.value.headers,
      };
    case undefined:
      return {};
    default:
      return transport satisfies never;
  }
}
