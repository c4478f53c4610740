import type { HandlerContext } from "@connectrpc/connect";
import { OPTION_CANCEL, type SendMessageRequest } from "@devtool/schema";
import { assertRight } from "./caller.ts";
import type { RequestHandler } from "./request-handler.ts";

/**
 * Wraps a handler with checks of the caller's rights, once for all transports.
 *
 * Answering a tool call requires `approve`, unless the answer declines it. So
 * do settings of a session that replace approvals. Reading the audit log, which
 * covers all principals, requires `audit`. All else is open to each principal,
 * for its own tasks: each method has its line here, so that a new one has to be
 * decided on.
 */
export function guardedHandler(handler: RequestHandler): RequestHandler {
  const { tasks, commands, push, audit, agents, workspaces } = handler;
  return {
    tasks: {
      async sendMessage(request, context) {
        assertMaySend(request, context);
        return tasks.sendMessage(request, context);
      },
      streamMessage(request, context) {
        assertMaySend(request.request, context);
        return tasks.streamMessage(request, context);
      },
      getTask: tasks.getTask,
      listTasks: tasks.listTasks,
      cancelTask: tasks.cancelTask,
      withdrawMessage: tasks.withdrawMessage,
      renameTask: tasks.renameTask,
      subscribeTask: tasks.subscribeTask,
      watchTasks: tasks.watchTasks,
    },
    commands: {
      // The list has the prompts of the session's MCP servers, which it starts.
      async getAllSlashCommands(request, context) {
        assertMaySend(request, context);
        return commands.getAllSlashCommands(request, context);
      },
      async runSlashCommand(request, context) {
        assertMaySend(request, context);
        return commands.runSlashCommand(request, context);
      },
    },
    push: {
      setPushConfig: push.setPushConfig,
      getPushConfig: push.getPushConfig,
      listPushConfigs: push.listPushConfigs,
      deletePushConfig: push.deletePushConfig,
    },
    audit: {
      async *readAudit(request, context) {
        assertRight(context, "audit");
        yield* audit.readAudit(request, context);
      },
    },
    agents: {
      listAgents: agents.listAgents,
      listModels: agents.listModels,
    },
    workspaces: {
      listCheckpoints: workspaces.listCheckpoints,
      getWorkspaceSettings: workspaces.getWorkspaceSettings,
    },
    streams: handler.streams,
    offers: handler.offers,
    recipientOf: handler.recipientOf,
    assertKept: handler.assertKept,
  };
}

function assertMaySend(
  request:
    | Partial<Pick<SendMessageRequest, "message" | "sessionSettings">>
    | undefined,
  context: HandlerContext,
): void {
  const approves = request?.message?.parts.some(
    ({ content }) =>
      content.case === "confirmation" &&
      content.value.selectedOptionId !== OPTION_CANCEL,
  );
  const { agentOptions = {}, mcpServers = [] } = request?.sessionSettings ?? {};
  // An MCP server that is started as a command runs it without a question. An
  // option of the agent's own may be its permissions, which only the agent
  // knows.
  const replacesApproval =
    Object.keys(agentOptions).length > 0 ||
    mcpServers.some(({ transport }) => transport.case === "stdio");
  if (approves || replacesApproval) assertRight(context, "approve");
}
