import { TaskState } from "../gen/devtool/v1alpha/task_pb.ts";

const NAMES: ReadonlyMap<TaskState, string> = new Map([
  [TaskState.SUBMITTED, "submitted"],
  [TaskState.WORKING, "working"],
  [TaskState.COMPLETED, "completed"],
  [TaskState.FAILED, "failed"],
  [TaskState.CANCELED, "canceled"],
  [TaskState.INPUT_REQUIRED, "input-required"],
  [TaskState.REJECTED, "rejected"],
  [TaskState.AUTH_REQUIRED, "auth-required"],
]);

const STATES: ReadonlyMap<string, TaskState> = new Map(
  [...NAMES].map(([state, name]) => [name, state]),
);

/**
 * Encodes a state as in A2A 0.3. `unknown` for states that it does not have.
 */
export function encodeState(state: TaskState): string {
  return NAMES.get(state) ?? "unknown";
}

/** Decodes a state of A2A 0.3. UNSPECIFIED for unknown names. */
export function decodeState(name: string): TaskState {
  return STATES.get(name) ?? TaskState.UNSPECIFIED;
}
