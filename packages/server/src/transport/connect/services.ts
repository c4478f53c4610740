import type { ConnectRouter } from "@connectrpc/connect";
import {
  AgentListService,
  AuditService,
  BackupService,
  PushService,
  SlashCommandService,
  TaskService,
  WorkspaceService,
} from "@devtool/schema";
import type { RequestHandler } from "../../handler/request-handler.ts";
import type { Served } from "../dialect.ts";

/**
 * Refuses JSON requests with unknown fields: one could be a restriction, or a
 * condition of an approval (JSON-2).
 */
export const STRICT: {
  readonly jsonOptions: { readonly ignoreUnknownFields: boolean };
} = { jsonOptions: { ignoreUnknownFields: false } };

/** Registers our own services. */
export function registerServices(
  router: ConnectRouter,
  handler: RequestHandler,
): void {
  router.service(TaskService, handler.tasks, STRICT);
  router.service(SlashCommandService, handler.commands, STRICT);
  router.service(PushService, handler.push);
  router.service(AuditService, handler.audit);
  router.service(BackupService, handler.backups, STRICT);
  router.service(AgentListService, handler.agents);
  router.service(WorkspaceService, handler.workspaces);
}

/** Loads what registers the services of other dialects. */
export function loadRpcs(
  served: readonly Served[],
): Promise<((router: ConnectRouter) => void)[]> {
  return Promise.all(
    served.flatMap((each) => ("loadRpcs" in each ? [each.loadRpcs()] : [])),
  );
}
