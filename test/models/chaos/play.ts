import { readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  confirmationPart,
  type DevtoolClient,
  pendingToolCalls,
  streamMessage,
  textMessage,
} from "@devtool/client";
import {
  emptyTask,
  isTerminal,
  type Message,
  openToolCalls,
  reduceTask,
  type Task,
  type TaskEvent,
  TaskState,
} from "@devtool/schema";
import { agentText } from "../../tasks.ts";
import type { Fault } from "./faults.ts";

/** The outcome of a fault. */
export interface Outcome {
  readonly task: Task;
  /** The number of times that the command ran. */
  readonly effects: number;
  readonly notices: number;
  /** Whether it ended before its deadline. */
  readonly inTime: boolean;
}

/**
 * Plays a fault against a server, answering yes to every question, until the
 * task ends or its time is up.
 */
export async function playFault(
  client: DevtoolClient,
  fault: Fault,
  {
    id,
    workspace,
    deadlineMs,
  }: {
    readonly id: string;
    readonly workspace: string;
    readonly deadlineMs: number;
  },
): Promise<Outcome> {
  const signal = AbortSignal.timeout(deadlineMs);
  const prompt = `${fault.script(`run echo ran >> ${id}.mark`)}\n# ${id}`;
  const seen = { task: emptyTask(), notices: 0 };
  const read = async (events: AsyncIterable<TaskEvent>): Promise<void> => {
    for await (const event of events) {
      seen.task = reduceTask(seen.task, event);
      if (event.payload.case === "notice" && event.payload.value.attempt > 0) {
        seen.notices++;
      }
    }
  };
  const message = { ...textMessage(id, prompt), model: fault.model ?? "" };
  const inTime = await playToEnd(
    client,
    { message, read, task: () => seen.task },
    signal,
  ).then(
    () => true,
    () => false,
  );
  return {
    ...seen,
    inTime,
    effects: await marksIn(join(workspace, `${id}.mark`)),
  };
}

interface Playing {
  readonly message: Message;
  readonly read: (events: AsyncIterable<TaskEvent>) => Promise<void>;
  readonly task: () => Task;
}

async function playToEnd(
  client: DevtoolClient,
  playing: Playing,
  signal: AbortSignal,
): Promise<void> {
  const { message, read, task } = playing;
  await read(streamMessage(client, { message }, signal));
  for (let round = 1; task().state === TaskState.INPUT_REQUIRED; round++) {
    const parts = pendingToolCalls(task()).map((call) =>
      confirmationPart(call, "proceed_once"),
    );
    const answer = { messageId: `${message.messageId}-${round}`, parts };
    await read(
      streamMessage(client, { message: answer, taskId: task().id }, signal),
    );
  }
}

/** Says in what an outcome is not as documented; nothing when it is. */
export function violationsOf(
  fault: Fault,
  { task, effects, notices, inTime }: Outcome,
): string[] {
  const text = agentText(task);
  const problems: readonly (readonly [boolean, string])[] = [
    [inTime, "did not end before its deadline"],
    [isTerminal(task.state), `is stuck in ${TaskState[task.state]}`],
    [
      task.state === fault.state,
      `ended in ${TaskState[task.state]}, not ${TaskState[fault.state]}: ${task.error}`,
    ],
    [
      fault.error?.test(task.error) ?? true,
      `says ${JSON.stringify(task.error)}`,
    ],
    [
      effects === fault.effects,
      `ran its command ${effects} times, not ${fault.effects}`,
    ],
    [
      fault.name === "words in circles"
        ? text.startsWith(fault.text)
        : text === fault.text,
      `said ${text.slice(0, 80)}`,
    ],
    [
      fault.notices === undefined || notices === fault.notices,
      `told ${notices} times of another try`,
    ],
    [openToolCalls(task).length === 0, "left a call open"],
  ];
  return problems
    .filter(([holds]) => !holds)
    .map(([, problem]) => `${fault.name}: ${problem}`);
}

async function marksIn(path: string): Promise<number> {
  const text = await readFile(path, "utf8").catch(() => "");
  return text.split("\n").length - 1;
}
