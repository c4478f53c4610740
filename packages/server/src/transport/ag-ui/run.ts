import type { JsonObject } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { abortable } from "@devtool/internal/abortable";
import type { KeyedQueue } from "@devtool/internal/keyed-queue";
import {
  emptyTask,
  endsExchange,
  isAtRest,
  isInterrupted,
  isTerminal,
  type Task,
} from "@devtool/schema";
import {
  encodeMessagesSnapshot,
  encodeRunEnd,
  encodeRunStarted,
  hasMessages,
  type RunAgentInput,
  RunEvents,
  readForwardedProps,
  threadMessagesOf,
} from "@devtool/schema/ag-ui";
import { invalid } from "../../errors.ts";
import { callKeys, principalOf } from "../../handler/caller.ts";
import type { DialectServices } from "../dialect.ts";
import type { Frame } from "../http/answer.ts";
import { errorEvent } from "./errors.ts";
import { readSaying, type Saying } from "./saying.ts";
import { earlierTasks, findThread, firstTaskId } from "./thread.ts";

/** A run, and what carries it out. */
export interface RequestedRun
  extends Pick<DialectServices, "handler" | "onError"> {
  /** The runs that say something, by their thread. */
  readonly turns: KeyedQueue;

  readonly input: RunAgentInput;

  /**
   * The context of all calls that the run makes, so that they count as one
   * stream.
   */
  readonly context: HandlerContext;
}

/**
 * Yields the events of a run: from its beginning to the moment when its thread
 * rests.
 *
 * A failure ends it with an event that says so, unless the client is gone or
 * the server stops.
 */
export async function* runFrames(run: RequestedRun): AsyncIterable<Frame> {
  const { input, context, onError } = run;
  yield frameOf(encodeRunStarted(input));
  try {
    using _stream = run.handler.streams.enter(context);
    // Two runs that find no task in a thread at the same moment would each begin
    // the same one, and a server opens a task once.
    const thread = JSON.stringify([principalOf(context), input.threadId]);
    const said = run.turns.run(thread, () => say(run));
    const { before, saying, taskId } = await abortable(said, context.signal);
    yield* showThread(run, before, saying);
    yield* follow(
      run,
      taskId === before.id ? before : emptyTask(),
      taskId,
      saying,
    );
  } catch (reason) {
    context.signal.throwIfAborted();
    yield frameOf(errorEvent(reason, onError));
  }
}

/** A thread before a run, and what the run sends to it. */
interface Said {
  /**
   * The last task of the thread before the run; an empty one for a new thread.
   */
  readonly before: Task;
  readonly saying: Saying;
  /** The task that takes it. */
  readonly taskId: string;
}

/**
 * Sends to the thread of a run what it asks for: a message, answers or a
 * cancellation. Of several servers that do so for a new thread at the same
 * moment, one begins its task, and the others go on with that one.
 */
async function say(run: RequestedRun): Promise<Said> {
  const { input, handler, context } = run;
  context.signal.throwIfAborted();
  const principal = principalOf(context);
  const before = await findThread(handler, input.threadId, context);
  if (before.id !== "") return sayAfter(run, before);
  context.values.set(
    callKeys.newTaskId,
    firstTaskId(principal, input.threadId),
  );
  try {
    return await sayAfter(run, before);
  } catch (reason) {
    // Another server may have begun the thread meanwhile, and the task of this
    // one was refused for that.
    const begun = await findThread(handler, input.threadId, context);
    if (begun.id === "") throw reason;
    context.values.set(callKeys.newTaskId, "");
    return sayAfter(run, begun);
  }
}

async function sayAfter(
  { input, handler, context }: RequestedRun,
  before: Task,
): Promise<Said> {
  const props = readForwardedProps(input);
  const saying = readSaying(input, props, before);
  switch (saying.case) {
    case "send": {
      const { task } = await handler.tasks.sendMessage(saying.request, context);
      return { before, saying, taskId: task?.id ?? "" };
    }
    // Other settings than the thread's do not keep a client from stopping it.
    case "cancel":
      await handler.tasks.cancelTask({ taskId: before.id }, context);
      return { before, saying, taskId: before.id };
    case "show":
      if (before.id !== "") {
        await handler.assertKept(before.id, props, context);
      }
      return { before, saying, taskId: before.id };
    default:
      return saying satisfies never;
  }
}

/**
 * Yields all messages of a thread up to its last task, and those of the run, if
 * the client does not have those of the last task.
 */
async function* showThread(
  { input, handler, context }: RequestedRun,
  last: Task,
  saying: Saying,
): AsyncIterable<Frame> {
  const known = threadMessagesOf(last);
  if (hasMessages(input.messages, known)) return;
  const earlier = await earlierTasks(handler, last, context);
  const own =
    saying.case === "send"
      ? input.messages.filter(
          ({ id }) => id === saying.request.message?.messageId,
        )
      : [];
  const thread = [...earlier.flatMap(threadMessagesOf), ...known, ...own];
  for (const shown of encodeMessagesSnapshot(thread)) yield frameOf(shown);
}

/**
 * Yields what happens in a task after a moment until it rests, and the end of
 * the run.
 */
async function* follow(
  run: RequestedRun,
  before: Task,
  taskId: string,
  saying: Saying,
): AsyncIterable<Frame> {
  if (taskId === "") {
    throw invalid(
      "messages",
      "",
      "say nothing new: end them with a message of the user",
    );
  }
  const ownMessageId =
    saying.case === "send" ? (saying.request.message?.messageId ?? "") : "";
  const events = new RunEvents(before, ownMessageId);
  if (saying.case !== "show" || !isAtRest(before.state)) {
    for await (const { event } of run.handler.tasks.subscribeTask(
      { taskId, afterSequence: before.sequence },
      run.context,
    )) {
      if (!event) continue;
      for (const shown of events.receive(event)) yield frameOf(shown);
      const isEnd =
        saying.case === "cancel"
          ? isTerminal(event.state)
          : endsExchange(event);
      if (!isEnd) continue;
      const { history, queuedMessages } = events.task;
      const messages = [
        ...history,
        ...queuedMessages.flatMap(({ message }) => message ?? []),
      ];
      // What ended before the task has the message of the run belongs to
      // others.
      if (
        ownMessageId === "" ||
        messages.some(({ messageId }) => messageId === ownMessageId)
      ) {
        break;
      }
    }
  }
  const parameters = await parametersOf(run, events.task);
  for (const shown of encodeRunEnd(run.input, events, (tool) =>
    parameters.get(tool),
  )) {
    yield frameOf(shown);
  }
}

/**
 * Returns the schemas of the arguments of tools, by their names, if a question
 * takes changed arguments.
 */
async function parametersOf(
  { handler, context, onError }: RequestedRun,
  task: Task,
): Promise<Map<string, JsonObject>> {
  const isEditable = task.history.some(({ parts }) =>
    parts.some((part) => part.toolCallDetail?.argumentsEditable),
  );
  if (!isInterrupted(task.state) || !isEditable) return new Map();
  try {
    const { tools } = await handler.offers(task.id, context);
    return new Map(
      tools.map(({ name, parameters = { type: "object" } }) => [
        name,
        parameters,
      ]),
    );
  } catch (reason) {
    // The question can be answered without them.
    onError(reason);
    return new Map();
  }
}

function frameOf(event: JsonObject): Frame {
  return { result: JSON.stringify(event) };
}
