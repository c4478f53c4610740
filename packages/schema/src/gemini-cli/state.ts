import { encodeState } from "../a2a-v03/state.ts";
import { TaskState } from "../gen/devtool/v1alpha/task_pb.ts";

/** The name of a state in the dialect: no task is completed there, it is the user's turn. */
export function encodeGeminiCliState(state: TaskState): string {
  return encodeState(state === TaskState.COMPLETED ? TaskState.INPUT_REQUIRED : state);
}
