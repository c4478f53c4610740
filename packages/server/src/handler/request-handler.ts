import { type ContextKey, createContextKey, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import type { AuditService, PushService, SlashCommandService, TaskService } from "@devtool/schema";
import type { AgentOffers } from "../agent/agent.ts";

/** What a client may ask: the generated services are the interface, and every transport calls these. */
export interface RequestHandler {
  readonly tasks: ServiceImpl<typeof TaskService>;
  readonly commands: ServiceImpl<typeof SlashCommandService>;
  readonly push: ServiceImpl<typeof PushService>;
  readonly audit: ServiceImpl<typeof AuditService>;
  readonly streams: {
    /** Counts the stream of a call that begins something before it subscribes. Throws `Code.ResourceExhausted` at the limit. */
    enter(context: HandlerContext): Disposable;
  };
  /** Lists the tools and MCP servers of a task of the caller; none where its agent cannot say. */
  readonly offers: (taskId: string, context: HandlerContext) => Promise<AgentOffers>;
}

/** Who asks, put into the context values of a call by its transport; a call without it is nobody's and is refused. */
export const principalKey: ContextKey<string> = createContextKey("", { description: "principal" });
