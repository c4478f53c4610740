import { type ContextKey, createContextKey, type ServiceImpl } from "@connectrpc/connect";
import type { AuditService, PushService, SlashCommandService, TaskService } from "@devtool/schema";

/** What a client may ask: the generated services are the interface, and every transport calls these. */
export interface RequestHandler {
  readonly tasks: ServiceImpl<typeof TaskService>;
  readonly commands: ServiceImpl<typeof SlashCommandService>;
  readonly push: ServiceImpl<typeof PushService>;
  readonly audit: ServiceImpl<typeof AuditService>;
}

/** Who asks, put into the context values of a call by its transport; a call without it is nobody's and is refused. */
export const principalKey: ContextKey<string> = createContextKey("", { description: "principal" });
