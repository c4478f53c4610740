import { setImmediate as nextTurn } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { AuditService } from "@devtool/schema";
import type { TaskStore } from "../store/task-store.ts";
import type { Methods } from "./request-handler.ts";

/**
 * The number of records of other tasks after which the event loop does other
 * work, and the reading ends if the client has gone.
 */
const RECORDS_PER_TURN = 256;

/**
 * Creates the handler of `AuditService`: clients read the audit log and verify
 * its chain themselves.
 */
export function createAuditHandler(
  store: TaskStore,
): Methods<typeof AuditService> {
  return {
    async *readAudit({ afterNumber, taskId }, { signal }) {
      let leftOut = 0;
      for await (const record of store.readAudit(afterNumber)) {
        if (taskId === "" || record.taskId === taskId) {
          yield create(AuditService.method.readAudit.output, { record });
        } else if (++leftOut % RECORDS_PER_TURN === 0) {
          // Only a record that is yielded waits for the client.
          await nextTurn();
          signal.throwIfAborted();
        }
      }
    },
  };
}
