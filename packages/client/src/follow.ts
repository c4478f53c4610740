import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  emptyTask,
  endsExchange,
  isTerminal,
  reduceTask,
  SendMessageRequestSchema,
  type Task,
  type TaskEvent,
} from "@devtool/schema";
import type { DevtoolClient } from "./devtool-client.ts";
import { type ResumeOptions, resumed } from "./resume.ts";

/**
 * Sends a message and yields the events of its exchange, also over connections that break: a message whose first event
 * did not come is sent again under its id, which starts nothing twice; after that the task's log is read on. Leaving
 * the loop ends the stream, and stops nothing else on the server.
 */
export function streamMessage(
  client: DevtoolClient,
  request: MessageInitShape<typeof SendMessageRequestSchema>,
  signal: AbortSignal,
  options: ResumeOptions = {},
): AsyncIterable<TaskEvent> {
  const message = create(SendMessageRequestSchema, request);
  const open = (last: TaskEvent | undefined, limit: AbortSignal): AsyncIterable<TaskEvent> =>
    last
      ? subscription(client, { taskId: last.taskId, afterSequence: last.sequence }, limit)
      : eventsOf(client.tasks.streamMessage({ request: message }, { signal: limit }));
  return resumed({ open, isEnd: endsExchange, isComplete: () => false }, { ...options, signal });
}

/** Yields the events of a task after a sequence, 0 for all, until the task has ended; also over connections that break. */
export function subscribeTask(
  client: DevtoolClient,
  from: { readonly taskId: string; readonly afterSequence?: bigint },
  signal: AbortSignal,
  options: ResumeOptions = {},
): AsyncIterable<TaskEvent> {
  const { taskId, afterSequence = 0n } = from;
  const open = (last: TaskEvent | undefined, limit: AbortSignal): AsyncIterable<TaskEvent> =>
    subscription(client, { taskId, afterSequence: last?.sequence ?? afterSequence }, limit);
  // A log is never empty: nothing at all is a stream that broke in good order, unless all of it was read before.
  const isComplete = (last: TaskEvent | undefined): boolean => (last ? isTerminal(last.state) : afterSequence > 0n);
  return resumed({ after: afterSequence, open, isEnd: () => false, isComplete }, { ...options, signal });
}

/** Yields a task each time it changes, from its first event on, until it has ended. */
export async function* observeTask(
  client: DevtoolClient,
  taskId: string,
  signal: AbortSignal,
  options: ResumeOptions = {},
): AsyncIterable<Task> {
  let task = emptyTask();
  for await (const event of subscribeTask(client, { taskId }, signal, options)) {
    task = reduceTask(task, event);
    yield task;
  }
}

function subscription(
  client: DevtoolClient,
  from: { readonly taskId: string; readonly afterSequence: bigint },
  signal: AbortSignal,
): AsyncIterable<TaskEvent> {
  return eventsOf(client.tasks.subscribeTask(from, { signal }));
}

async function* eventsOf(
  responses: AsyncIterable<{ readonly event?: TaskEvent | undefined }>,
): AsyncIterable<TaskEvent> {
  for await (const { event } of responses) if (event) yield event;
}
