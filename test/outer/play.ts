import type { Transport } from "@connectrpc/connect";
import {
  confirmationPart,
  createDevtoolClient,
  pendingToolCalls,
  streamMessage,
  textMessage,
} from "@devtool/client";
import { emptyTask, reduceTask, TaskState } from "@devtool/schema";

/** The outcome of an exchange with the scripted agent. */
export interface Played {
  /** The tools that asked, in order. */
  readonly asked: readonly string[];
  /** The text of the agent after the answer. */
  readonly said: string;
  readonly state: string;
}

/**
 * Streams a message that makes a file, approves the call that asks, and follows
 * the task to its end. Runs in a browser too.
 */
export async function play(
  transport: Transport,
  file: string,
  patienceMs = 15_000,
): Promise<Played> {
  const client = createDevtoolClient(transport);
  const signal = AbortSignal.timeout(patienceMs);
  let task = emptyTask();
  let said = "";
  const message = textMessage(
    crypto.randomUUID(),
    `think\nwrite ${file} hello\ntext done`,
  );
  for await (const event of streamMessage(client, { message }, signal)) {
    task = reduceTask(task, event);
  }
  const calls = pendingToolCalls(task);
  const parts = calls.map((call) => confirmationPart(call, "proceed_once"));
  const answer = { messageId: crypto.randomUUID(), parts };
  for await (const event of streamMessage(
    client,
    { message: answer, taskId: task.id },
    signal,
  )) {
    task = reduceTask(task, event);
    if (event.payload.case === "text") said += event.payload.value.text;
  }
  return {
    asked: calls.map(({ toolName }) => toolName),
    said,
    state: TaskState[task.state],
  };
}
