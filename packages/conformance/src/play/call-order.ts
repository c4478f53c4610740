import type { JsonValue } from "@bufbuild/protobuf";
import { listOrEmpty, objectOrEmpty } from "@devtool/internal/json";

/**
 * The order of the RFC's statuses of a tool call.
 */
const RANKS: ReadonlyMap<unknown, number> = new Map([
  ["PENDING", 0],
  ["EXECUTING", 1],
  ["SUCCEEDED", 2],
  ["FAILED", 2],
  ["CANCELLED", 2],
]);
const TERMINAL_RANK = 2;

/**
 * Describes the first tool call of a stream that moves back, or changes after
 * it has ended (TOOL-1). Returns undefined if none does. Unknown statuses are
 * left to the cases.
 */
export function callOrderProblem(
  frames: readonly JsonValue[],
): string | undefined {
  const parts = frames.flatMap((frame) => {
    // Only status updates count, of A2A 0.3 or 1.0: the snapshot of a whole
    // task may repeat a call.
    const { kind, statusUpdate } = objectOrEmpty(frame);
    const { status } = objectOrEmpty(
      kind === "status-update" ? frame : statusUpdate,
    );
    return listOrEmpty(objectOrEmpty(objectOrEmpty(status).message).parts);
  });
  const lastStatus = new Map<string, unknown>();
  for (const part of parts) {
    const { tool_call_id: id, status } = objectOrEmpty(
      objectOrEmpty(part).data,
    );
    const rank = RANKS.get(status);
    if (typeof id !== "string" || rank === undefined) continue;
    const before = lastStatus.get(id);
    const rankBefore = RANKS.get(before) ?? 0;
    if (rank < rankBefore || rankBefore === TERMINAL_RANK) {
      return `call ${id} is ${before}: it cannot become ${status}`;
    }
    lastStatus.set(id, status);
  }
  return undefined;
}
