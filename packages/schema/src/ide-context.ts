import { create } from "@bufbuild/protobuf";
import {
  type IdeContext,
  IdeContextSchema,
} from "./gen/devtool/v1alpha/ide_context_pb.ts";
import { Role, type Task } from "./gen/devtool/v1alpha/task_pb.ts";
import { confirmationsOf } from "./tool-call.ts";

/**
 * Returns the whole context after an update of it. The result has the files of
 * the update first, then those that it leaves as they were.
 */
export function mergeIdeContext(
  before: IdeContext | undefined,
  update: IdeContext,
): IdeContext {
  const { editor, files, closedPaths } = update;
  const changed = new Set([...closedPaths, ...files.map(({ path }) => path)]);
  const rest = update.isWhole
    ? []
    : (before?.files ?? []).filter(({ path }) => !changed.has(path));
  return create(IdeContextSchema, {
    editor,
    isWhole: true,
    files: [...files, ...rest],
  });
}

/**
 * Adds what the agent is told of the editor to the task, and to the last
 * message of the user that is not an answer.
 */
export function withIdeContext(task: Task, update: IdeContext): Task {
  const ideContext = mergeIdeContext(task.ideContext, update);
  const index = task.history.findLastIndex(
    (message) =>
      message.role === Role.USER && confirmationsOf(message).length === 0,
  );
  const message = task.history[index];
  if (!message) return { ...task, ideContext };
  const told = { ...message, ideContext: update };
  return { ...task, ideContext, history: task.history.with(index, told) };
}
