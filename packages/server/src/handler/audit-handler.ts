import type { ServiceImpl } from "@connectrpc/connect";
import type { AuditService } from "@devtool/schema";
import type { TaskStore } from "../store/task-store.ts";

/** What a client may do with the audit log: read it, and check the chain for itself. */
export function createAuditHandler(store: TaskStore): ServiceImpl<typeof AuditService> {
  return {
    async *readAudit({ afterNumber }) {
      for await (const record of store.readAudit(afterNumber)) yield { record };
    },
  };
}
