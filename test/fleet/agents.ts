import { textMessage } from "@devtool/client";
import type { TaskEvent } from "@devtool/schema";
import { TaskState } from "@devtool/schema";
import type { Execute, Replica } from "./replicas.ts";

/** The time in milliseconds after which a test that waits has failed. */
export const LIMIT_MS = 120_000;

/** Words that an agent may say, one for each time the gate is opened. */
export class Gates {
  readonly #waiting: (() => void)[] = [];
  #open = 0;

  constructor(readonly count: number) {}

  open(): void {
    const next = this.#waiting.shift();
    if (next) {
      next();
    } else {
      this.#open++;
    }
  }

  passed(signal: AbortSignal): Promise<void> {
    if (this.#open > 0) {
      this.#open--;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push(resolve);
      signal.addEventListener("abort", () => reject(signal.reason), {
        once: true,
      });
    });
  }
}

/** An agent that says a number for each gate that is opened, then ends. */
export function speaking(
  gates: Gates,
  aborted?: PromiseWithResolvers<unknown>,
): Execute {
  return async function* (_turn, signal) {
    signal.addEventListener("abort", () => aborted?.resolve(signal.reason), {
      once: true,
    });
    for (let word = 0; word < gates.count; word++) {
      await gates.passed(signal);
      yield { case: "text", value: `${word} ` };
    }
  };
}

/**
 * An agent that asks before its one call, and notes each run of it under the
 * task's id.
 */
export function asking(runs: string[]): Execute {
  return async function* (turn, signal) {
    const { id } = turn.task;
    const run = (): string => {
      runs.push(id);
      return "done";
    };
    const outcome = yield* turn.call(
      { toolName: "act", ask: "May I?", run },
      signal,
    );
    yield { case: "text", value: outcome.case };
  };
}

/** Starts a task at a server, and returns its id. */
export async function begin(
  { client }: Replica,
  text: string,
): Promise<string> {
  const message = textMessage(crypto.randomUUID(), text);
  const { task } = await client.tasks.sendMessage({
    message,
    returnImmediately: true,
  });
  return task?.id ?? "";
}

/**
 * Reads a task once, from its first event to the first for which `isLast`
 * holds. Default: that with which the task rests.
 */
export async function followed(
  { client }: Replica,
  taskId: string,
  isLast: (event: TaskEvent) => boolean = ({ state }) =>
    state > TaskState.WORKING,
): Promise<TaskEvent[]> {
  const events: TaskEvent[] = [];
  const signal = AbortSignal.timeout(LIMIT_MS);
  for await (const { event } of client.tasks.subscribeTask(
    { taskId },
    { signal },
  )) {
    if (event) events.push(event);
    if (event && isLast(event)) break;
  }
  return events;
}

/** Returns the text that the agent said in some events. */
export function textOf(events: readonly TaskEvent[]): string {
  return events
    .map(({ payload }) => (payload.case === "text" ? payload.value.text : ""))
    .join("");
}
