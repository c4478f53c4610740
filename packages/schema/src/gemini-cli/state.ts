import { encodeState } from "../a2a-v03/state.ts";
import { TaskState } from "../gen/devtool/v1alpha/task_pb.ts";

/**
 * Encodes a state. The dialect has no completed tasks: it is the user's turn
 * then.
 */
export function encodeGeminiCliState(state: TaskState): string {
  return encodeState(
    state === TaskState.COMPLETED ? TaskState.INPUT_REQUIRED : state,
  );
}
