import { type Client, createClient, type Transport } from "@connectrpc/connect";
import {
  AgentListService,
  AuditService,
  BackupService,
  PushService,
  SlashCommandService,
  TaskService,
  WorkspaceService,
} from "@devtool/schema";

/**
 * The generated clients of an agent server, one for each service. All share one
 * transport.
 */
export interface DevtoolClient {
  /**
   * Sends messages, and reads, lists, cancels and follows tasks.
   */
  readonly tasks: Client<typeof TaskService>;
  /**
   * Lists and runs slash commands such as `/help`.
   */
  readonly commands: Client<typeof SlashCommandService>;
  /**
   * Manages the push notification configs of tasks.
   */
  readonly push: Client<typeof PushService>;
  /**
   * Reads the audit log. Only devtool's own server has it, over Connect and
   * gRPC.
   */
  readonly audit: Client<typeof AuditService>;
  /**
   * Backs up the server. Only devtool's own server has it, over Connect and
   * gRPC, for the operator.
   */
  readonly backups: Client<typeof BackupService>;
  /**
   * Lists the agents that sessions can choose. Only devtool's own server has
   * it, over Connect and gRPC.
   */
  readonly agents: Client<typeof AgentListService>;
  /**
   * Describes the workspace of a task. Only devtool's own server has it, over
   * Connect and gRPC.
   */
  readonly workspaces: Client<typeof WorkspaceService>;
}

/**
 * Creates a client over any Connect transport: Connect, gRPC or gRPC-Web from
 * `@connectrpc/connect-node` or `-web`, or A2A from `@devtool/client/a2a`.
 *
 * ```ts
 * const transport = createConnectTransport({
 *   baseUrl: "http://127.0.0.1:41242",
 *   httpVersion: "1.1",
 *   interceptors: [bearerInterceptor(token)],
 * });
 * const client = createDevtoolClient(transport);
 * const { task } = await client.tasks.getTask({ taskId });
 * ```
 */
export function createDevtoolClient(transport: Transport): DevtoolClient {
  return {
    tasks: createClient(TaskService, transport),
    commands: createClient(SlashCommandService, transport),
    push: createClient(PushService, transport),
    audit: createClient(AuditService, transport),
    backups: createClient(BackupService, transport),
    agents: createClient(AgentListService, transport),
    workspaces: createClient(WorkspaceService, transport),
  };
}
