import { oneLine } from "@devtool/internal/visible-text";
import { isAtRest, type Task, type TaskEvent } from "@devtool/schema";
import type { PortTasks } from "./port.ts";

/** How often a host hears that a call is still alive, in milliseconds. */
const SIGN_OF_LIFE_MS = 10_000;

/**
 * Waits until a task rests, but no longer than a time, and returns it with its
 * whole history.
 *
 * @param progress hears what the agent does, and at times that it still works
 */
export async function settle(
  tasks: PortTasks,
  { id, sequence, state }: Pick<Task, "id" | "sequence" | "state">,
  maxMs: number,
  progress: (message: string) => void,
  signal: AbortSignal,
): Promise<Task> {
  if (!isAtRest(state)) {
    const until = AbortSignal.any([signal, AbortSignal.timeout(maxMs)]);
    progress(`task ${id} works`);
    const alive = setInterval(
      () => progress(`task ${id} works`),
      SIGN_OF_LIFE_MS,
    );
    try {
      for await (const event of tasks.follow(id, sequence, until)) {
        const words = wordsOf(event);
        if (words !== "") progress(words);
        if (isAtRest(event.state)) break;
      }
    } catch (reason) {
      // The time is over: the task works on.
      if (!until.aborted || signal.aborted) throw reason;
    } finally {
      clearInterval(alive);
    }
  }
  return tasks.get(id, signal);
}

/** Returns what an event says about the work, on one line; empty for nothing. */
function wordsOf({ payload }: TaskEvent): string {
  if (payload.case === "notice") return oneLine(payload.value.text, 200);
  if (payload.case !== "toolCall") return "";
  const { toolName, description } = payload.value;
  return oneLine(description || toolName, 200);
}
