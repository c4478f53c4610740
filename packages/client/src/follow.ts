import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  emptyTask,
  endsExchange,
  isTerminal,
  type Replay,
  reduceTask,
  SendMessageRequestSchema,
  type Task,
  type TaskEvent,
} from "@devtool/schema";
import type { DevtoolClient } from "./devtool-client.ts";
import { type ResumeOptions, resumed } from "./resume.ts";

/** How an exchange is followed. */
export interface ExchangeOptions extends ResumeOptions {
  /**
   * Is told that the exchange is one from before, since a message of this id and content came already; also when it was
   * sent again because its connection broke. Default: nobody is told.
   */
  readonly onReplay?: (replay: Replay) => void;
}

/**
 * Sends a message and yields the events of its exchange, also over connections that break: a message whose first event
 * did not come is sent again under its id, which starts nothing twice; after that the task's log is read on. Leaving
 * the loop ends the stream, and stops nothing else on the server.
 */
export function streamMessage(
  client: DevtoolClient,
  request: MessageInitShape<typeof SendMessageRequestSchema>,
  signal: AbortSignal,
  { onReplay, ...options }: ExchangeOptions = {},
): AsyncIterable<TaskEvent> {
  const message = create(SendMessageRequestSchema, request);
  const open = (last: TaskEvent | undefined, limit: AbortSignal): AsyncIterable<TaskEvent> =>
    last
      ? subscription(client, { taskId: last.taskId, afterSequence: last.sequence }, limit)
      : eventsOf(client.tasks.streamMessage({ request: message }, { signal: limit }), onReplay);
  // Nothing comes after a task has ended, and an agent may refuse who subscribes to it.
  const isComplete = (last: TaskEvent | undefined): boolean => last !== undefined && isTerminal(last.state);
  return resumed({ open, isEnd: endsExchange, isComplete }, { ...options, signal });
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
  responses: AsyncIterable<{ readonly event?: TaskEvent | undefined; readonly replay?: Replay | undefined }>,
  onReplay?: (replay: Replay) => void,
): AsyncIterable<TaskEvent> {
  for await (const { event, replay } of responses) {
    if (replay) onReplay?.(replay);
    if (event) yield event;
  }
}
