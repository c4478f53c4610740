import {
  lastStepIndex,
  reduceTask,
  type Task,
  type TaskEvent,
} from "@devtool/schema";

/**
 * Folds an event into the task of a turn: its state, and the steps that hold
 * its open calls.
 *
 * What was said and shown is left out, since the client has it already. A whole
 * transcript would make each event cost more than the one before: after 20,000
 * thoughts five times as much.
 */
export function foldTurn(task: Task, event: TaskEvent): Task {
  const folded = reduceTask(
    task,
    isShownOnly(event) ? { ...event, payload: { case: undefined } } : event,
  );
  const last = lastStepIndex(folded);
  return last > 0 ? { ...folded, history: folded.history.slice(last) } : folded;
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
    case "created":
    case "message":
    case "messageQueued":
    case "messageTaken":
    case "messageWithdrawn":
    case "renamed":
    case "sessionTools":
    case "goalProgress":
    case "workflowRun":
    case "ideContext":
    case "reply":
    case "stateChange":
    case "toolCall":
    case "usage":
    case undefined:
      return false;
    default:
      return payload satisfies never;
  }
}
