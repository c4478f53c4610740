import type { JsonValue } from "@bufbuild/protobuf";
import { fieldsOf } from "./json-fields.ts";

const RANKS: ReadonlyMap<unknown, number> = new Map([
  ["PENDING", 0],
  ["EXECUTING", 1],
  ["SUCCEEDED", 2],
  ["FAILED", 2],
  ["CANCELLED", 2],
]);
const TERMINAL = 2;

/**
 * Says which tool call of a stream moves back, or changes after its end (TOOL-1); undefined when none does. Statuses that
 * are not the RFC's are left to the cases.
 */
export function disorderedCall(frames: readonly JsonValue[]): string | undefined {
  const last = new Map<string, unknown>();
  for (const { tool_call_id: id, status } of frames.flatMap(partsOf).map(dataOf)) {
    const rank = RANKS.get(status);
    if (typeof id !== "string" || rank === undefined) continue;
    const before = RANKS.get(last.get(id)) ?? 0;
    if (rank < before || before === TERMINAL) return `call ${id} is ${last.get(id)}: it cannot become ${status}`;
    last.set(id, status);
  }
  return undefined;
}

/** The parts of a status update's own message, of A2A 0.3 or 1.0; a Task's are left out, since a snapshot may repeat a call. */
function partsOf(frame: JsonValue): JsonValue[] {
  const { kind, statusUpdate } = fieldsOf(frame);
  const { status } = fieldsOf(kind === "status-update" ? frame : statusUpdate);
  const { parts } = fieldsOf(fieldsOf(status).message);
  return Array.isArray(parts) ? parts : [];
}

function dataOf(part: JsonValue): Readonly<Record<string, JsonValue>> {
  return fieldsOf(fieldsOf(part).data);
}
