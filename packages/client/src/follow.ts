import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  emptyTask,
  endsExchange,
  isTerminal,
  type Replay,
  reduceTask,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type Task,
  type TaskEvent,
} from "@devtool/schema";
import { assertEncodable } from "./assert-encodable.ts";
import type { DevtoolClient } from "./devtool-client.ts";
import {
  type ResumableLog,
  type ResumeOptions,
  readWithResume,
} from "./resume.ts";

/**
 * Options of `streamMessage`.
 */
export interface ExchangeOptions extends ResumeOptions {
  /**
   * Headers of the request that sends the message, such as `traceparent` of
   * W3C Trace Context, in whose trace the turn goes on. Default: none.
   */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Called when the server replays an earlier exchange because a message with
   * this id and content was sent before. This also happens when the client
   * itself sends it again after a lost connection.
   *
   * Default: not reported.
   */
  readonly onReplay?: (replay: Replay) => void;
}

/**
 * Sends a message and yields the events of its exchange: everything the agent
 * does until it ends the task or waits for the user.
 *
 * A lost connection is resumed. Until the first event has arrived, the message
 * is sent again under its id, which does not start anything twice; after that,
 * the task's log is read on. Leaving the loop ends the stream, but the agent
 * keeps working: call `client.tasks.cancelTask` to stop it.
 *
 * ```ts
 * const message = textMessage(crypto.randomUUID(), "Fix the failing test.");
 * let task = emptyTask();
 * for await (const event of streamMessage(client, { message }, signal)) {
 *   task = reduceTask(task, event);
 *   if (event.payload.case === "text") process.stdout.write(event.payload.value.text);
 * }
 * ```
 *
 * Throws a `ConnectError` as described for `ResumeOptions`: errors that a retry
 * cannot fix at once, others after the last attempt. A message that cannot be
 * encoded is `Code.InvalidArgument`, and nothing is sent.
 */
export function streamMessage(
  client: DevtoolClient,
  request: MessageInitShape<typeof SendMessageRequestSchema>,
  signal: AbortSignal,
  options: ExchangeOptions = {},
): AsyncIterable<TaskEvent> {
  const exchange = exchangeLog(
    client,
    create(SendMessageRequestSchema, request),
    options,
  );
  return readWithResume(exchange, options, signal);
}

/**
 * Returns the events of a message's exchange as a log. Opening it for the first
 * time sends the message.
 */
export function exchangeLog(
  client: DevtoolClient,
  request: SendMessageRequest,
  { onReplay, headers = {} }: ExchangeOptions = {},
): ResumableLog {
  return {
    open: (last, limit) => {
      if (last) return readLog(client, last.taskId, last.sequence, limit);
      assertEncodable(request);
      return unwrapEvents(
        client.tasks.streamMessage({ request }, { signal: limit, headers }),
        onReplay,
      );
    },
    isEnd: endsExchange,
    // A task that has ended has no more events, and an agent may refuse to
    // stream it.
    isComplete: (last) => last !== undefined && isTerminal(last.state),
  };
}

/**
 * Yields the events of a task after `afterSequence` until the task has ended.
 * 0, the default, yields all of them. A lost connection is resumed, so that no
 * event is missed or comes twice. A task that waits for its user has not ended.
 *
 * ```ts
 * for await (const { sequence, state } of subscribeTask(client, { taskId, afterSequence: 12n }, signal)) {
 *   console.log(sequence, TaskState[state]);
 * }
 * ```
 *
 * Throws a `ConnectError` as described for `ResumeOptions`; `Code.NotFound` for
 * a task that the caller does not have.
 */
export function subscribeTask(
  client: DevtoolClient,
  from: { readonly taskId: string; readonly afterSequence?: bigint },
  signal: AbortSignal,
  options: ResumeOptions = {},
): AsyncIterable<TaskEvent> {
  const { taskId, afterSequence = 0n } = from;
  return readWithResume(
    taskLog(client, taskId, afterSequence),
    options,
    signal,
  );
}

/**
 * Returns the events of a task after a sequence as a log.
 */
export function taskLog(
  client: DevtoolClient,
  taskId: string,
  afterSequence: bigint,
): ResumableLog {
  return {
    after: afterSequence,
    open: (last, limit) =>
      readLog(client, taskId, last?.sequence ?? afterSequence, limit),
    isEnd: () => false,
    // A log is never empty, so a stream without any event was cut short, unless
    // all was read before.
    isComplete: (last) => (last ? isTerminal(last.state) : afterSequence > 0n),
  };
}

/**
 * Yields a task each time it changes, from its first event until it has ended.
 * A lost connection is resumed. Each value is the whole task; none is changed
 * later.
 *
 * ```ts
 * for await (const task of observeTask(client, taskId, signal)) render(task);
 * ```
 *
 * Throws a `ConnectError` as described for `ResumeOptions`; `Code.NotFound` for
 * a task that the caller does not have.
 */
export async function* observeTask(
  client: DevtoolClient,
  taskId: string,
  signal: AbortSignal,
  options: ResumeOptions = {},
): AsyncIterable<Task> {
  let task = emptyTask();
  for await (const event of subscribeTask(
    client,
    { taskId },
    signal,
    options,
  )) {
    task = reduceTask(task, event);
    yield task;
  }
}

function readLog(
  client: DevtoolClient,
  taskId: string,
  afterSequence: bigint,
  signal: AbortSignal,
): AsyncIterable<TaskEvent> {
  return unwrapEvents(
    client.tasks.subscribeTask({ taskId, afterSequence }, { signal }),
  );
}

async function* unwrapEvents(
  responses: AsyncIterable<{
    readonly event?: TaskEvent | undefined;
    readonly replay?: Replay | undefined;
  }>,
  onReplay?: (replay: Replay) => void,
): AsyncIterable<TaskEvent> {
  for await (const { event, replay } of responses) {
    if (replay) onReplay?.(replay);
    if (event) yield event;
  }
}
