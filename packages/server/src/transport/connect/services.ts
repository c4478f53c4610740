import type { DescService } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import {
  AgentListService,
  AuditService,
  PushService,
  SlashCommandService,
  TaskService,
  WorkspaceService,
} from "@devtool/schema";
import { SessionService } from "@devtool/schema/codex";
import type { AdapterOptions } from "./options.ts";

/**
 * Refuses JSON requests with unknown fields: one could be a restriction, or a
 * condition of an approval (JSON-2).
 */
export const STRICT: {
  readonly jsonOptions: { readonly ignoreUnknownFields: boolean };
} = { jsonOptions: { ignoreUnknownFields: false } };

/**
 * Registers the services that are served within the process, too. Returns their
 * descriptions.
 */
export function registerServices(
  router: ConnectRouter,
  { handler, sessions }: Pick<AdapterOptions, "handler" | "sessions">,
): DescService[] {
  router.service(TaskService, handler.tasks, STRICT);
  router.service(SlashCommandService, handler.commands, STRICT);
  router.service(PushService, handler.push);
  router.service(AuditService, handler.audit);
  router.service(AgentListService, handler.agents);
  router.service(WorkspaceService, handler.workspaces);
  router.service(SessionService, sessions, STRICT);
  return [
    TaskService,
    SlashCommandService,
    PushService,
    AuditService,
    AgentListService,
    WorkspaceService,
    SessionService,
  ];
}
