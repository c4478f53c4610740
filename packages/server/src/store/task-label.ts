import {
  foldTitle,
  initialTitle,
  type Task,
  type TaskEvent,
} from "@devtool/schema";
import type { TaskLabel, TaskQuery } from "./task-store.ts";

/** The label of a task that has none. */
export const NO_LABEL: TaskLabel = { title: "", workspacePath: "", agent: "" };

/**
 * Returns the label of a task after one more of its events. The same object if
 * the event changes nothing in it.
 */
export function labelAfter(
  label: TaskLabel,
  { payload }: TaskEvent,
): TaskLabel {
  switch (payload.case) {
    case "created": {
      const { settings, sessionSettings } = payload.value;
      const title = initialTitle(payload.value);
      return {
        title,
        workspacePath: settings?.workspacePath ?? "",
        agent: sessionSettings?.agent ?? "",
      };
    }
    case "renamed":
      return { ...label, title: payload.value.title };
    default:
      return label;
  }
}

/** Returns the label of a task that is already folded. */
export function labelOf({ title, settings, sessionSettings }: Task): TaskLabel {
  return {
    title,
    workspacePath: settings?.workspacePath ?? "",
    agent: sessionSettings?.agent ?? "",
  };
}

/** The part of a query that labels decide. */
export type LabelQuery = Pick<
  TaskQuery,
  "agent" | "workspacePath" | "titleContains"
>;

/** Returns whether a query selects tasks with a label. */
export function matchesLabel(
  { agent, workspacePath, titleContains }: LabelQuery,
  label: TaskLabel,
): boolean {
  if (agent !== undefined && label.agent !== agent) return false;
  if (workspacePath !== undefined && label.workspacePath !== workspacePath) {
    return false;
  }
  return (
    titleContains === undefined ||
    foldTitle(label.title).includes(foldTitle(titleContains))
  );
}
