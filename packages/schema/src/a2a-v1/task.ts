import { create } from "@bufbuild/protobuf";
import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { decodeState, encodeState } from "../a2a-v03/state.ts";
import { type EncodeTaskOptions, taskEnvelope } from "../a2a-v03/task.ts";
import { fieldsOf } from "../fields-of.ts";
import {
  type TaskStatus as TaskStatusV03,
  TaskStatusSchema as TaskStatusV03Schema,
  type Task as TaskV03,
  TaskSchema as TaskV03Schema,
} from "../gen/devtool/a2a/v1alpha/envelope_pb.ts";
import type { Task } from "../gen/devtool/v1alpha/task_pb.ts";
import {
  type Task as A2aTask,
  TaskSchema,
  type TaskStatus,
} from "../gen/lf/a2a/v1/a2a_pb.ts";
import { artifactFromV03, artifactToV03 } from "./artifact.ts";
import { messageFromV03, messageToV03 } from "./message.ts";
import { stateFromA2a, stateToA2a } from "./state.ts";

/** Converts a task to one of A2A 1.0. */
export function taskToA2a(
  task: Task,
  options: EncodeTaskOptions = {},
): A2aTask {
  return taskFromV03(taskEnvelope(task, options));
}

/** Converts a task of A2A 0.3 to one of 1.0. */
export function taskFromV03(task: TaskV03): A2aTask {
  const { status, history, artifacts } = task;
  return create(TaskSchema, {
    ...fieldsOf(task),
    status: status && {
      state: stateToA2a(decodeState(status.state)),
      message: status.message && messageFromV03(status.message),
      timestamp:
        status.timestamp === ""
          ? undefined
          : timestampFromDate(new Date(status.timestamp)),
    },
    history: history.map(messageFromV03),
    artifacts: artifacts.map(artifactFromV03),
  });
}

/** Converts a task of A2A 1.0 to one of 0.3. */
export function taskToV03(task: A2aTask): TaskV03 {
  const { status, history, artifacts } = task;
  return create(TaskV03Schema, {
    ...fieldsOf(task),
    kind: "task",
    status: status && statusToV03(status, "status"),
    history: history.map((message, index) =>
      messageToV03(message, `history[${index}]`),
    ),
    artifacts: artifacts.map((artifact, index) =>
      artifactToV03(artifact, `artifacts[${index}]`),
    ),
  });
}

/** Converts a status of A2A 1.0 to one of 0.3. */
export function statusToV03(
  { state, message, timestamp }: TaskStatus,
  path: string,
): TaskStatusV03 {
  return create(TaskStatusV03Schema, {
    state: encodeState(stateFromA2a(state)),
    message: message && messageToV03(message, `${path}.message`),
    timestamp: timestamp ? timestampDate(timestamp).toISOString() : "",
  });
}
