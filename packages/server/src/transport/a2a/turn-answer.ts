import { create } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import {
  type Artifact,
  ArtifactUpdateSchema,
  answerArtifact,
  StateChangeSchema,
  type Task,
  type TaskEvent,
  TaskEventSchema,
  TaskState,
} from "@devtool/schema";
import { neededMessages } from "@devtool/schema/a2a-v03";
import {
  findTask,
  type RequestHandler,
} from "../../handler/request-handler.ts";

/** The end of a turn, as clients without the extension see it. */
export interface AnsweredEnd {
  /** The artifact with what the agent said in the turn. */
  readonly answer: TaskEvent;
  /** The end itself. The agent's closing words are in the answer. */
  readonly end: TaskEvent;
}

/**
 * Returns the end of a turn with its answer as an artifact (STREAM-10).
 *
 * Undefined for an event that completes no turn, and for a turn without an
 * answer of its own.
 *
 * @param messageId - The message whose exchange ends. Default: the last one.
 */
export async function answeredEnd(
  handler: RequestHandler,
  context: HandlerContext,
  event: TaskEvent,
  messageId?: string,
): Promise<AnsweredEnd | undefined> {
  const { payload, sequence, state, taskId } = event;
  if (payload.case !== "stateChange" || state !== TaskState.COMPLETED) {
    return undefined;
  }
  const { text } = payload.value;
  const turn = { sequence, text, messageId };
  const task = await findTask(handler, { context }, taskId, (current) =>
    neededMessages(current, { historyLength: 0, end: turn }),
  );
  const artifact = answerArtifact(task, turn);
  if (!artifact) return undefined;
  const value = create(ArtifactUpdateSchema, { artifact, lastChunk: true });
  return {
    answer: create(TaskEventSchema, {
      ...event,
      payload: { case: "artifact", value },
    }),
    end:
      text === ""
        ? event
        : create(TaskEventSchema, {
            ...event,
            payload: { case: "stateChange", value: create(StateChangeSchema) },
          }),
  };
}

/**
 * Returns an event as a notification without the extension has it: the end of a
 * turn with the answer as its text (STREAM-10).
 *
 * A notification is one post, which an answer and an end would not be.
 *
 * @param readTask - Reads the task as the event left it.
 */
export async function withAnswer(
  event: TaskEvent,
  readTask: () => Promise<Task>,
): Promise<TaskEvent> {
  const { payload, state } = event;
  if (payload.case !== "stateChange" || state !== TaskState.COMPLETED) {
    return event;
  }
  const content = answerArtifact(await readTask())?.parts[0]?.content;
  if (content?.case !== "text") return event;
  const value = create(StateChangeSchema, { text: content.value });
  return { ...event, payload: { case: "stateChange", value } };
}

/** A task as the response to a message, and what else is in it. */
export interface ExchangeTask {
  readonly task: Task;
  /** The answer of the turn; only clients without the extension get it. */
  readonly answer: Artifact | undefined;
}

/**
 * Returns the task of an exchange as a response, from what the handler
 * answered.
 *
 * That holds the history of its exchange only. A client that limits the length
 * means the whole task, and the turn may have begun before the exchange.
 */
export async function exchangeTask(
  handler: RequestHandler,
  context: HandlerContext,
  task: Task,
  asked: { historyLength: number | undefined; messageId: string },
): Promise<ExchangeTask> {
  const { historyLength, messageId } = asked;
  const isCompleted = task.state === TaskState.COMPLETED;
  if (!isCompleted && historyLength === undefined) {
    return { task, answer: undefined };
  }
  const { sequence, stateText: text } = task;
  const end = { sequence, text, messageId };
  const whole = await findTask(handler, { context }, task.id, (current) =>
    neededMessages(current, {
      historyLength: historyLength ?? 0,
      end: isCompleted ? end : undefined,
    }),
  );
  return {
    task:
      historyLength === undefined ? task : { ...task, history: whole.history },
    answer: isCompleted ? answerArtifact(whole, end) : undefined,
  };
}
