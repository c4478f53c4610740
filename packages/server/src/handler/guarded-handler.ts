import {
  create,
  type DescMessage,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type MessageShape,
} from "@bufbuild/protobuf";
import type { HandlerContext, Interceptor } from "@connectrpc/connect";
import {
  AgentListService,
  AuditService,
  BackupService,
  OPTION_CANCEL,
  PushService,
  type SendMessageRequest,
  SlashCommandService,
  TaskService,
  WorkspaceService,
} from "@devtool/schema";
import type { Operations } from "../operations.ts";
import { assertOperator, assertRight } from "./caller.ts";
import {
  interceptedStream,
  interceptedUnary,
  type Stream,
  type Unary,
} from "./intercepted-call.ts";
import {
  observedStream,
  observedUnary,
  observeRequest,
} from "./observed-call.ts";
import type {
  Methods,
  RequestHandler,
  StreamCall,
  UnaryCall,
} from "./request-handler.ts";

/** The services of a server, as they are implemented for callers with all rights. */
export interface ServerMethods {
  readonly tasks: Methods<typeof TaskService>;
  readonly commands: Methods<typeof SlashCommandService>;
  readonly push: Methods<typeof PushService>;
  readonly audit: Methods<typeof AuditService>;
  readonly backups: Methods<typeof BackupService>;
  readonly agents: Methods<typeof AgentListService>;
  readonly workspaces: Methods<typeof WorkspaceService>;
}

/** What surrounds each method of a handler. */
export interface Around {
  readonly interceptors: readonly Interceptor[];
  /** What the server's observer hears. */
  readonly operations: Operations | undefined;
}

/** Throws when the caller of a request does not have a right that it needs. */
type Guard<I extends DescMessage> = (
  request: MessageShape<I>,
  context: HandlerContext,
) => void;

/**
 * Wraps services with checks of the caller's rights, once for all transports,
 * and surrounds each method with interceptors and the observer.
 *
 * Answering a tool call requires `approve`, unless the answer declines it. So
 * do settings of a session that replace approvals. Reading the audit log, which
 * covers all principals, requires `audit`, a list of their tasks `list_all`,
 * to register an agent `register`, and a backup, which has the tasks of all, the
 * operator's token. All else is open to each principal,
 * for its own tasks, unless its roles give it no right to `read` or to `run`: each
 * method has its line here, so that a new one has to be decided on.
 */
export function guardedHandler(
  methods: ServerMethods,
  around: Around,
): Pick<RequestHandler, keyof ServerMethods | "observe"> {
  const { tasks, commands, push, audit, backups, agents, workspaces } = methods;
  const surround = surrounders(around);
  const { one, many } = surround;
  const { method: command } = SlashCommandService;
  const { method: config } = PushService;
  const { method: agent } = AgentListService;
  const { method: workspace } = WorkspaceService;
  return {
    observe: (name, context) =>
      observeRequest(around.operations, name, context),
    tasks: guardedTasks(tasks, surround),
    commands: {
      // The list has the prompts of the session's MCP servers, which it starts.
      getAllSlashCommands: one(
        command.getAllSlashCommands,
        commands.getAllSlashCommands,
        assertMaySend,
      ),
      runSlashCommand: one(
        command.runSlashCommand,
        commands.runSlashCommand,
        assertMaySend,
      ),
    },
    push: {
      setPushConfig: one(config.setPushConfig, push.setPushConfig, RUN),
      getPushConfig: one(config.getPushConfig, push.getPushConfig, READ),
      listPushConfigs: one(config.listPushConfigs, push.listPushConfigs, READ),
      deletePushConfig: one(
        config.deletePushConfig,
        push.deletePushConfig,
        RUN,
      ),
    },
    audit: {
      readAudit: many(
        AuditService.method.readAudit,
        audit.readAudit,
        (_request, context) => assertRight(context, "audit"),
      ),
    },
    backups: {
      createBackup: many(
        BackupService.method.createBackup,
        backups.createBackup,
        (_request, context) => assertOperator(context),
      ),
    },
    agents: {
      listAgents: one(agent.listAgents, agents.listAgents, READ),
      listModels: one(agent.listModels, agents.listModels, READ),
      registerAgent: one(agent.registerAgent, agents.registerAgent, REGISTER),
      unregisterAgent: one(
        agent.unregisterAgent,
        agents.unregisterAgent,
        REGISTER,
      ),
      listFoundAgents: one(agent.listFoundAgents, agents.listFoundAgents, READ),
    },
    workspaces: {
      listCheckpoints: one(
        workspace.listCheckpoints,
        workspaces.listCheckpoints,
        READ,
      ),
      getWorkspaceSettings: one(
        workspace.getWorkspaceSettings,
        workspaces.getWorkspaceSettings,
        READ,
      ),
    },
  };
}

function guardedTasks(
  tasks: ServerMethods["tasks"],
  { one, many }: ReturnType<typeof surrounders>,
): RequestHandler["tasks"] {
  const { method: task } = TaskService;
  return {
    sendMessage: one(task.sendMessage, tasks.sendMessage, assertMaySend),
    streamMessage: many(
      task.streamMessage,
      tasks.streamMessage,
      ({ request }, context) => assertMaySend(request, context),
    ),
    getTask: one(task.getTask, tasks.getTask, READ),
    listTasks: one(task.listTasks, tasks.listTasks, assertMayList),
    cancelTask: one(task.cancelTask, tasks.cancelTask, RUN),
    withdrawMessage: one(task.withdrawMessage, tasks.withdrawMessage, RUN),
    renameTask: one(task.renameTask, tasks.renameTask, RUN),
    setGoalState: one(task.setGoalState, tasks.setGoalState, RUN),
    deleteTask: one(task.deleteTask, tasks.deleteTask, RUN),
    subscribeTask: many(task.subscribeTask, tasks.subscribeTask, READ),
    watchTasks: many(task.watchTasks, tasks.watchTasks, assertMayList),
  };
}

/** The guard of methods that show what is the caller's own. */
const READ = (_request: unknown, context: HandlerContext): void =>
  assertRight(context, "read");

/** The guard of methods that change what is the caller's own. */
const RUN = (_request: unknown, context: HandlerContext): void =>
  assertRight(context, "run");

/** The guard of what the agents of others are registered by. */
const REGISTER = (_request: unknown, context: HandlerContext): void =>
  assertRight(context, "register");

/** The guard of lists, which may have the tasks of all callers. */
function assertMayList(
  { allCallers }: { readonly allCallers: boolean },
  context: HandlerContext,
): void {
  assertRight(context, allCallers ? "list_all" : "read");
}

/** Returns what surrounds a method with one answer, and one with a stream. */
function surrounders({ interceptors, operations }: Around) {
  const one = <I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    answer: Unary<I, O>,
    guard: Guard<I>,
  ): UnaryCall<I, O> => {
    const guarded: Unary<I, O> = async (request, context) => {
      guard(request, context);
      return answer(request, context);
    };
    const intercepted = interceptedUnary(method, guarded, interceptors);
    const observed = observedUnary(method, intercepted, operations);
    return async (request, context) =>
      create(
        method.output,
        await observed(create(method.input, request), context),
      );
  };
  const many = <I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    answer: Stream<I, O>,
    guard: Guard<I>,
  ): StreamCall<I, O> => {
    const guarded: Stream<I, O> = (request, context) => {
      guard(request, context);
      return answer(request, context);
    };
    const intercepted = interceptedStream(method, guarded, interceptors);
    const observed = observedStream(method, intercepted, operations);
    return (request, context) =>
      observed(create(method.input, request), context);
  };
  return { one, many };
}

function assertMaySend(
  request:
    | Partial<Pick<SendMessageRequest, "message" | "sessionSettings">>
    | undefined,
  context: HandlerContext,
): void {
  assertRight(context, "run");
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
