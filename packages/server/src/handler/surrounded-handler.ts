import type {
  DescMessage,
  DescMethodServerStreaming,
  DescMethodUnary,
} from "@bufbuild/protobuf";
import type { Interceptor } from "@connectrpc/connect";
import {
  AgentListService,
  AuditService,
  PushService,
  SlashCommandService,
  TaskService,
  WorkspaceService,
} from "@devtool/schema";
import type { Operations } from "../operations.ts";
import {
  interceptedStream,
  interceptedUnary,
  type Stream,
  type Unary,
} from "./intercepted-call.ts";
import { observedStream, observedUnary } from "./observed-call.ts";
import type { RequestHandler } from "./request-handler.ts";

/** What surrounds each method of a handler. */
export interface Around {
  readonly interceptors: readonly Interceptor[];
  /** What the server's observer hears. */
  readonly operations: Operations | undefined;
}

/**
 * Surrounds each method of a handler with interceptors, and tells the observer
 * of it. Without both, the methods stay as they are.
 */
export function surroundedHandler(
  handler: RequestHandler,
  around: Around,
): RequestHandler {
  if (around.interceptors.length === 0 && !around.operations) return handler;
  const { tasks, commands, push, audit, agents, workspaces } = handler;
  const { one, many } = surrounders(around);
  const { method: task } = TaskService;
  return {
    ...handler,
    tasks: {
      sendMessage: one(task.sendMessage, tasks.sendMessage),
      streamMessage: many(task.streamMessage, tasks.streamMessage),
      getTask: one(task.getTask, tasks.getTask),
      listTasks: one(task.listTasks, tasks.listTasks),
      cancelTask: one(task.cancelTask, tasks.cancelTask),
      withdrawMessage: one(task.withdrawMessage, tasks.withdrawMessage),
      renameTask: one(task.renameTask, tasks.renameTask),
      subscribeTask: many(task.subscribeTask, tasks.subscribeTask),
      watchTasks: many(task.watchTasks, tasks.watchTasks),
    },
    commands: {
      getAllSlashCommands: one(
        SlashCommandService.method.getAllSlashCommands,
        commands.getAllSlashCommands,
      ),
      runSlashCommand: one(
        SlashCommandService.method.runSlashCommand,
        commands.runSlashCommand,
      ),
    },
    push: {
      setPushConfig: one(PushService.method.setPushConfig, push.setPushConfig),
      getPushConfig: one(PushService.method.getPushConfig, push.getPushConfig),
      listPushConfigs: one(
        PushService.method.listPushConfigs,
        push.listPushConfigs,
      ),
      deletePushConfig: one(
        PushService.method.deletePushConfig,
        push.deletePushConfig,
      ),
    },
    audit: { readAudit: many(AuditService.method.readAudit, audit.readAudit) },
    agents: {
      listAgents: one(AgentListService.method.listAgents, agents.listAgents),
      listModels: one(AgentListService.method.listModels, agents.listModels),
    },
    workspaces: {
      listCheckpoints: one(
        WorkspaceService.method.listCheckpoints,
        workspaces.listCheckpoints,
      ),
      getWorkspaceSettings: one(
        WorkspaceService.method.getWorkspaceSettings,
        workspaces.getWorkspaceSettings,
      ),
    },
  };
}

/** Returns what surrounds a method with one answer, and one with a stream. */
function surrounders({ interceptors, operations }: Around) {
  const one = <I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    answer: Unary<I, O>,
  ) => {
    const intercepted = interceptedUnary(method, answer, interceptors);
    return observedUnary(method, intercepted, operations);
  };
  const many = <I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    answer: Stream<I, O>,
  ) => {
    const intercepted = interceptedStream(method, answer, interceptors);
    return observedStream(method, intercepted, operations);
  };
  return { one, many };
}
