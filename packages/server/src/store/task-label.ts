import { foldTitle } from "@devtool/internal/title-text";
import {
  initialTitle,
  type Message,
  Role,
  type Task,
  type TaskEvent,
} from "@devtool/schema";
import type { TaskLabel, TaskQuery } from "./task-store.ts";

/** The label of a task that has none. */
export const NO_LABEL: TaskLabel = {
  title: "",
  workspacePath: "",
  agent: "",
  messageCount: 0,
};

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
        messageCount: 1,
      };
    }
    case "renamed":
      return { ...label, title: payload.value.title };
    case "message":
      return isAnswer(payload.value) ? label : withMessage(label);
    case "messageTaken":
      return withMessage(label);
    default:
      return label;
  }
}

/** Returns the label of a task after its first events, or after some later ones. */
export function labelOfEvents(events: readonly TaskEvent[]): TaskLabel {
  return events.reduce(labelAfter, NO_LABEL);
}

function withMessage(label: TaskLabel): TaskLabel {
  return { ...label, messageCount: label.messageCount + 1 };
}

/** Whether a message only answers questions of tool calls. */
function isAnswer({ parts }: Message): boolean {
  return (
    parts.length > 0 &&
    parts.every(({ content }) => content.case === "confirmation")
  );
}

/** Returns the label of a task that is already folded. */
export function labelOf({
  title,
  settings,
  sessionSettings,
  command,
  history,
}: Task): TaskLabel {
  const messages = history.filter(
    (message) => message.role === Role.USER && !isAnswer(message),
  );
  return {
    title,
    workspacePath: settings?.workspacePath ?? "",
    agent: sessionSettings?.agent ?? "",
    messageCount: messages.length + (command ? 1 : 0),
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
