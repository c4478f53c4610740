import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  type DevtoolClient,
  pendingToolCalls,
  type ResumeOptions,
  streamMessage,
  subscribeTask,
} from "@devtool/client";
import { defined } from "@devtool/internal/json";
import {
  emptyTask,
  type Goal,
  isAtRest,
  isQuestionOfCall,
  MessageSchema,
  MessageSettingsSchema,
  type Part,
  Role,
  reduceTask,
  type SendMessageRequestSchema,
  type Task,
  type TaskEvent,
} from "@devtool/schema";
import type { Approver } from "./approval.ts";
import { userMessage } from "./error-text.ts";
import type { ForkPoint } from "./user-messages.ts";

/** Dependencies of a conversation. */
export interface ConversationOptions {
  readonly client: DevtoolClient;
  readonly approve: Approver;
  /** Receives each event as it arrives. */
  readonly onEvent: (event: TaskEvent) => void;
  /**
   * Receives the reason why an answer was not accepted: its question was
   * answered elsewhere or has changed, or its arguments were refused.
   */
  readonly onOutdated: (problem: string) => void;
  readonly nextId: () => string;
  /** The name of the program in the log: at most 64 visible characters. */
  readonly clientLabel: string;
  /** How lost streams are resumed. Default: as `ResumeOptions` says. */
  readonly resume?: ResumeOptions;
}

/** A message to send. */
interface MessageToSend {
  readonly request: MessageInitShape<typeof SendMessageRequestSchema>;
  /** What the task works for from now on. Default: as before. */
  readonly goal?: Goal | undefined;
  /** What holds for the turn of the message. Default: as for the session. */
  readonly turn?: MessageInitShape<typeof MessageSettingsSchema>["turn"];
  /** The conversation that a new one goes on with. Default: none. */
  readonly fork?: ForkPoint | undefined;
  /** The task before the message; undefined for a new one. */
  readonly before?: Task | undefined;
}

/**
 * Sends a message and answers the agent's questions until there are none left.
 * Returns the task as it is then.
 *
 * A task whose questions stay open is still `input-required`.
 */
export async function converse(
  sent: MessageToSend,
  options: ConversationOptions,
  signal: AbortSignal,
): Promise<Task> {
  let task = sent.before ?? emptyTask();
  const { client, clientLabel, resume } = options;
  const request = {
    ...sent.request,
    messageSettings: create(
      MessageSettingsSchema,
      defined({
        clientLabel,
        goal: sent.goal,
        turn: sent.turn,
        fork: sent.fork,
      }),
    ),
  };
  for await (const event of streamMessage(client, request, signal, resume)) {
    task = reduceTask(task, event);
    options.onEvent(event);
  }
  return answerAll(task, options, signal);
}

/**
 * Answers the open questions of a task, and those that follow from the answers.
 */
export async function answerAll(
  task: Task,
  options: ConversationOptions,
  signal: AbortSignal,
): Promise<Task> {
  const asked = pendingToolCalls(task);
  if (asked.length === 0) return task;
  const parts: Part[] = [];
  for (const call of asked) {
    const isQuestion = isQuestionOfCall(task, call.toolCallId);
    const answer = await options.approve({ call, isQuestion }, signal);
    signal.throwIfAborted();
    if (!answer) return task;
    parts.push(...answer);
  }
  const message = create(MessageSchema, {
    messageId: options.nextId(),
    role: Role.USER,
    parts,
  });
  try {
    return await converse(
      { request: { message, taskId: task.id }, before: task },
      options,
      signal,
    );
  } catch (reason) {
    const { code } = ConnectError.from(reason);
    if (
      parts.some(({ modifiedArguments }) => modifiedArguments) &&
      REFUSES_ARGUMENTS.has(code)
    ) {
      options.onOutdated(userMessage(reason));
      return answerAll(task, options, signal);
    }
    if (code !== Code.FailedPrecondition) throw reason;
    const changed = await changedTask(task, options, signal);
    if (!changed) throw reason;
    options.onOutdated(userMessage(reason));
    return answerAll(changed, options, signal);
  }
}

/**
 * The codes with which a server refuses arguments that a user changed: they are
 * invalid, or the policy denies them.
 */
const REFUSES_ARGUMENTS: ReadonlySet<Code> = new Set([
  Code.InvalidArgument,
  Code.PermissionDenied,
]);

/**
 * Follows what happened to a task since a question was shown, until it waits or
 * has ended. Undefined if nothing did.
 */
async function changedTask(
  shown: Task,
  { client, onEvent }: ConversationOptions,
  signal: AbortSignal,
): Promise<Task | undefined> {
  const { task: now } = await client.tasks.getTask(
    { taskId: shown.id },
    { signal },
  );
  if (!now || now.sequence <= shown.sequence) return undefined;
  let task = shown;
  for await (const event of subscribeTask(
    client,
    { taskId: shown.id, afterSequence: shown.sequence },
    signal,
  )) {
    task = reduceTask(task, event);
    onEvent(event);
    if (isAtRest(task.state) && task.sequence >= now.sequence) break;
  }
  return task;
}

/** Follows a task from its beginning until it waits or has ended. */
export async function followToRest(
  taskId: string,
  { client, onEvent }: ConversationOptions,
  signal: AbortSignal,
): Promise<Task> {
  let task = emptyTask();
  for await (const event of subscribeTask(client, { taskId }, signal)) {
    task = reduceTask(task, event);
    onEvent(event);
    if (isAtRest(task.state)) break;
  }
  return task;
}
