import type { ServiceImpl } from "@connectrpc/connect";
import type { AuditService } from "@devtool/schema";
import type { TaskStore } from "../store/task-store.ts";

/** Creates the handler of `AuditService`: clients read the audit log and verify its chain themselves. */
export function createAuditHandler(store: TaskStore): ServiceImpl<typeof AuditService> {
  return {
    async *readAudit({ afterNumber, taskId }) {
      for await (const record of store.readAudit(afterNumber)) {
        if (taskId === "" || record.taskId === taskId) yield { record };
      }
    },
  };
}
