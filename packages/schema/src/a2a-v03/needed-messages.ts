import { type Task, TaskState } from "../gen/devtool/v1alpha/task_pb.ts";
import { isPlainPart } from "../plain-part.ts";
import { lastStepIndex } from "../tool-call.ts";
import { answerStart, type TurnEnd } from "../turn-answer.ts";

/** What is encoded of a task. */
export interface NeededOptions {
  /** The `historyLength` of `encodeTask`. Default: all. */
  readonly historyLength?: number | undefined;
  /** The turn whose answer is encoded. Default: the last one. */
  readonly end?: TurnEnd | undefined;
}

/**
 * Returns how many of the last messages of a task `encodeTask` reads, with the
 * answer of a turn. The others need not have their content.
 */
export function neededMessages(
  task: Task,
  { historyLength, end }: NeededOptions,
): number {
  const { history, state } = task;
  if (historyLength === undefined) return history.length;
  let first = history.length;
  // A message that only the extension shows is not counted without it.
  for (let shown = 0; first > 0 && shown < historyLength; first--) {
    if (history[first - 1]?.parts.some(isPlainPart)) shown++;
  }
  const turn =
    end !== undefined || state === TaskState.COMPLETED
      ? answerStart(task, end)
      : Math.max(0, lastStepIndex(task));
  return history.length - Math.min(first, turn);
}
