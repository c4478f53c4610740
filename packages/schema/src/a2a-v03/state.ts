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

const STATES: ReadonlyMap<string, TaskState> = new Map([...NAMES].map(([state, name]) => [name, state]));

/** The name of a state in A2A 0.3; `unknown` for one that has none. */
export function encodeState(state: TaskState): string {
  return NAMES.get(state) ?? "unknown";
}

/** The state that A2A 0.3 names so; UNSPECIFIED for one that we do not know. */
export function decodeState(name: string): TaskState {
  return STATES.get(name) ?? TaskState.UNSPECIFIED;
}
