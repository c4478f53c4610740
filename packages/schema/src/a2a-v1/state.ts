import { TaskState } from "../gen/devtool/v1alpha/task_pb.ts";
import { TaskState as A2aTaskState } from "../gen/lf/a2a/v1/a2a_pb.ts";

const STATES: ReadonlyMap<TaskState, A2aTaskState> = new Map([
  [TaskState.UNSPECIFIED, A2aTaskState.UNSPECIFIED],
  [TaskState.SUBMITTED, A2aTaskState.SUBMITTED],
  [TaskState.WORKING, A2aTaskState.WORKING],
  [TaskState.COMPLETED, A2aTaskState.COMPLETED],
  [TaskState.FAILED, A2aTaskState.FAILED],
  [TaskState.CANCELED, A2aTaskState.CANCELED],
  [TaskState.INPUT_REQUIRED, A2aTaskState.INPUT_REQUIRED],
  [TaskState.REJECTED, A2aTaskState.REJECTED],
  [TaskState.AUTH_REQUIRED, A2aTaskState.AUTH_REQUIRED],
]);

const FROM_A2A: ReadonlyMap<A2aTaskState, TaskState> = new Map(
  [...STATES].map(([own, state]) => [state, own]),
);

/** Converts a state to one of A2A 1.0. */
export function stateToA2a(state: TaskState): A2aTaskState {
  return STATES.get(state) ?? A2aTaskState.UNSPECIFIED;
}

/** Converts a state of A2A 1.0 to ours. UNSPECIFIED for unknown states. */
export function stateFromA2a(state: A2aTaskState): TaskState {
  return FROM_A2A.get(state) ?? TaskState.UNSPECIFIED;
}
