import type { JsonObject } from "@bufbuild/protobuf";
import { ApprovalMode, type McpServer, type Task } from "@devtool/schema";
import { defined } from "@devtool/schema/json";
import type { CodexOptions } from "./codex-options.ts";

const STRICTEST_FIRST = [ApprovalMode.PLAN, ApprovalMode.DEFAULT, ApprovalMode.AUTO_EDIT, ApprovalMode.YOLO];

/** When Codex asks, and what its sandbox allows, by approval mode. No mode leaves the sandbox. */
const SETTINGS: Readonly<Record<ApprovalMode, { approvalPolicy: string; sandbox: string }>> = {
  [ApprovalMode.UNSPECIFIED]: { approvalPolicy: "untrusted", sandbox: "workspace-write" },
  [ApprovalMode.PLAN]: { approvalPolicy: "never", sandbox: "read-only" },
  [ApprovalMode.DEFAULT]: { approvalPolicy: "untrusted", sandbox: "workspace-write" },
  [ApprovalMode.AUTO_EDIT]: { approvalPolicy: "on-request", sandbox: "workspace-write" },
  [ApprovalMode.YOLO]: { approvalPolicy: "never", sandbox: "workspace-write" },
};

/** Returns the parameters of `thread/start`, `thread/resume` and `thread/fork` for the session of a task. */
export function threadSettings(options: CodexOptions, { settings, sessionSettings }: Task): JsonObject {
  const { approvalPolicy, sandbox } = SETTINGS[stricterMode(options.approvalMode, sessionSettings?.approvalMode)];
  const servers = (sessionSettings?.mcpServers ?? []).map((server) => [server.name, mcpConfig(server)] as const);
  const config = servers.length > 0 ? { ...options.config, mcp_servers: Object.fromEntries(servers) } : options.config;
  // Codex's configuration may ask for a review by a model, which cannot replace the user's approval.
  return defined({
    cwd: settings?.workspacePath || undefined,
    approvalPolicy,
    sandbox,
    approvalsReviewer: "user",
    model: modelOf(options, { sessionSettings }),
    config,
  });
}

/** Returns the model that a session has chosen, or else the operator's. Undefined for that of Codex's configuration. */
export function modelOf(
  { model }: CodexOptions,
  { sessionSettings }: Pick<Task, "sessionSettings">,
): string | undefined {
  return sessionSettings?.model || model;
}

/** Returns the stricter of the operator's mode and a session's. A mode that is unknown leaves the operator's. */
function stricterMode(operator: ApprovalMode = ApprovalMode.DEFAULT, session?: ApprovalMode): ApprovalMode {
  const limit = operator || ApprovalMode.DEFAULT;
  const rank = STRICTEST_FIRST.indexOf(session || limit);
  return STRICTEST_FIRST[rank] !== undefined && rank < STRICTEST_FIRST.indexOf(limit) ? STRICTEST_FIRST[rank] : limit;
}

/** Returns the configuration of an MCP server (`mcp_servers.<name>` of Codex). */
function mcpConfig({ transport }: McpServer): JsonObject {
  switch (transport.case) {
    case "stdio": {
      const { command, args, env, workingDirectory } = transport.value;
      return defined({ command, args, env, cwd: workingDirectory || undefined });
    }
    case "http":
    case "sse":
      return { url: transport.value.url, http_headers: transport.value.headers };
    case undefined:
      return {};
    default:
      return transport satisfies never;
  }
}
