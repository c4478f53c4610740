import { Role, reduceTask, type Task, type TaskEvent } from "@devtool/schema";

/**
 * Folds an event into the task of a turn: its state, and the steps that hold its open calls.
 *
 * What was said and shown is left out, since the client has it already. A whole transcript would make each event cost more than
 * the one before: after 20,000 thoughts five times as much.
 */
export function foldTurn(task: Task, event: TaskEvent): Task {
  const folded = reduceTask(task, isShownOnly(event) ? { ...event, payload: { case: undefined } } : event);
  // `openToolCalls` reads the last step of the agent, and the steps after it that hold questions of its calls.
  const open = folded.history.findLastIndex(
    ({ role, parts }) =>
      role === Role.AGENT && !parts.every(({ toolCallDetail }) => (toolCallDetail?.parentToolCallId ?? "") !== ""),
  );
  return open > 0 ? { ...folded, history: folded.history.slice(open) } : folded;
}

/** Whether an event only adds something to a transcript. */
function isShownOnly({ payload }: TaskEvent): boolean {
  switch (payload.case) {
    case "text":
    case "thought":
    case "citation":
    case "artifact":
    case "summary":
    case "notice":
      return true;
    default:
      return false;
  }
}
