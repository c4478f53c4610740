import type { ConnectError } from "@connectrpc/connect";
import {
  type AnswerChanges,
  createTaskView,
  type DevtoolClient,
  type MessageContent,
  type TaskSnapshot,
  type TaskView,
} from "@devtool/client";
import { useState, useSyncExternalStore } from "react";
import { type RunAction, useActions } from "./use-actions.ts";
import { useFollowing } from "./use-following.ts";

/**
 * A task, and how to act on it.
 *
 * The functions resolve to whether they succeeded, and never reject: `failure`
 * has the error. When the component unmounts, a message on its way is still
 * delivered, and then they stop waiting: they resolve to true, unless they have
 * failed by then. The functions stay the same for a task.
 */
export interface TaskHandle extends TaskSnapshot, TaskActions {
  /**
   * Why the latest action failed. Undefined after one that succeeded.
   */
  readonly failure: ConnectError | undefined;
}

/**
 * The actions on a task.
 */
export interface TaskActions {
  /**
   * Sends a text, or a request to `SendMessage` whose `messageId` may be
   * missing. It continues the task, or starts one. While the agent works, the
   * message waits in the queue of the task.
   *
   * Resolves when the exchange has ended: when the agent has finished, or waits
   * for the user.
   */
  readonly send: (content: MessageContent) => Promise<boolean>;
  /**
   * Answers one of `questions` with one of its options. The changes replace
   * what the call would write, or tell the agent something; the option
   * `modify_arguments` needs `modifiedArguments`, and the call then asks again.
   * Resolves as `send` does.
   */
  readonly answer: (
    toolCallId: string,
    optionId: string,
    changes?: AnswerChanges,
  ) => Promise<boolean>;
  /**
   * Cancels the task. Resolves when the snapshot shows that it has ended.
   */
  readonly cancel: () => Promise<boolean>;
  /**
   * Gives the task another title: at most 80 characters on one line. The task
   * may have ended. Resolves when the snapshot shows the title.
   */
  readonly rename: (title: string) => Promise<boolean>;
}

/**
 * Shows a task, or one that the first message starts, as it is now, also what
 * other clients make of it.
 *
 * ```tsx
 * const { items, questions, send, answer } = useTask(client, { taskId });
 * ```
 *
 * Another `client` or `taskId` shows another task. When `taskId` becomes the id
 * of the task that was started, the task stays. Changes of other options are
 * ignored.
 */
export function useTask(
  client: DevtoolClient,
  options: Parameters<typeof createTaskView>[1] = {},
): TaskHandle {
  const { taskId } = options;
  const [kept, keep] = useState(() => ({
    client,
    taskId,
    view: createTaskView(client, options),
  }));
  const isOther = kept.client !== client || kept.taskId !== taskId;
  if (isOther) {
    const isSame =
      kept.client === client &&
      taskId !== undefined &&
      kept.view.snapshot().task.id === taskId;
    keep({
      client,
      taskId,
      view: isSame ? kept.view : createTaskView(client, options),
    });
  }
  const { view } = kept;
  const snapshot = useSyncExternalStore(
    view.subscribe,
    view.snapshot,
    view.snapshot,
  );
  useFollowing(view);
  const [actions, failure] = useActions(view, taskActions, isDelivered);
  return { ...snapshot, ...actions, failure };
}

function isDelivered(view: TaskView): boolean {
  return view.snapshot().unsent.length === 0;
}

function taskActions(view: TaskView, run: RunAction): TaskActions {
  return {
    send: (content) => run((signal) => view.send(content, signal)),
    answer: (toolCallId, optionId, changes) =>
      run((signal) => view.answer(toolCallId, optionId, signal, changes)),
    cancel: () => run((signal) => view.cancel(signal)),
    rename: (title) => run((signal) => view.rename(title, signal)),
  };
}
