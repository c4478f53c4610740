import { type Client, createClient, type Transport } from "@connectrpc/connect";
import { AuditService, PushService, SlashCommandService, TaskService } from "@devtool/schema";

/** An agent server, as its clients call it: the generated services. */
export interface DevtoolClient {
  readonly tasks: Client<typeof TaskService>;
  readonly commands: Client<typeof SlashCommandService>;
  readonly push: Client<typeof PushService>;
  readonly audit: Client<typeof AuditService>;
}

/** Makes a client over any Connect transport: Connect, gRPC, gRPC-Web, or A2A by `createA2aTransport`. */
export function createDevtoolClient(transport: Transport): DevtoolClient {
  return {
    tasks: createClient(TaskService, transport),
    commands: createClient(SlashCommandService, transport),
    push: createClient(PushService, transport),
    audit: createClient(AuditService, transport),
  };
}
