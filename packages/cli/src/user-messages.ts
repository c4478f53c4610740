import { Code, ConnectError } from "@connectrpc/connect";
import type { DevtoolClient } from "@devtool/client";
import {
  confirmationsOf,
  type Message,
  Role,
  type SlashCommand,
  type Task,
} from "@devtool/schema";
import { UsageError } from "./errors.ts";
import { countOf } from "./render/count.ts";
import { shortTaskId } from "./task-id.ts";

/** A message of the user in a conversation. */
export interface UserMessage {
  readonly taskId: string;
  readonly messageId: string;
  /** Its texts, each on lines of its own. */
  readonly text: string;
}

/** Where a new conversation leaves the one that it goes on with. */
export interface ForkPoint {
  readonly taskId: string;
  /** Empty for the end of the task. */
  readonly beforeMessageId: string;
}

/** Maximum number of conversations that are read, each a fork of the next. */
const MAX_FORKS = 20;

/**
 * Returns the messages of the user that the agent of a task knows, the oldest
 * first: those of the task, and those before it in the conversation that it is a
 * fork of, as far as that can be read.
 */
export async function userMessages(
  client: DevtoolClient,
  taskId: string,
  signal: AbortSignal,
): Promise<readonly UserMessage[]> {
  const { task: own } = await client.tasks.getTask({ taskId }, { signal });
  const found = own ? messagesIn(own) : [];
  let fork = own?.history[0]?.fork;
  for (let at = 0; fork && at < MAX_FORKS; at++) {
    const { beforeMessageId, lastSequence } = fork;
    const task = await origin(client, fork.taskId, signal);
    // What was said there since is not known here.
    if (!task || (beforeMessageId === "" && task.sequence !== lastSequence)) {
      break;
    }
    const all = messagesIn(task);
    const end = all.findLastIndex((each) => each.messageId === beforeMessageId);
    found.unshift(...(beforeMessageId === "" ? all : all.slice(0, end)));
    fork = task.history[0]?.fork;
  }
  return found;
}

/** How the command line forks the conversation that it names. */
export interface ForkOptions {
  /** Whether a new conversation goes on with it. */
  readonly fork?: true;
  /**
   * The message of the user before which that leaves it: its number from 1, or
   * its id. Default: the end.
   */
  readonly before?: string;
}

/**
 * Returns where a new conversation leaves a task; undefined without `--fork`.
 * Throws when there is no task, and for a number that no message has.
 */
export async function forkPoint(
  client: DevtoolClient,
  taskId: string | undefined,
  { fork, before = "" }: ForkOptions,
  signal: AbortSignal,
): Promise<ForkPoint | undefined> {
  if (!fork) return undefined;
  if (taskId === undefined) {
    throw new UsageError("--fork needs a conversation: name it with --task");
  }
  if (!/^\d+$/.test(before)) return { taskId, beforeMessageId: before };
  const messages = await userMessages(client, taskId, signal);
  return pointBefore(numberedMessage(messages, before, `--before ${before}`));
}

/** Returns where a new conversation begins that leaves out a message. */
export function pointBefore({ taskId, messageId }: UserMessage): ForkPoint {
  return { taskId, beforeMessageId: messageId };
}

/**
 * Returns the message with a number from 1. Throws for a number that no message
 * has.
 *
 * @param asked how the user asked for it
 */
export function numberedMessage(
  messages: readonly UserMessage[],
  number: string,
  asked: string,
): UserMessage {
  const chosen = messages[Number(number) - 1];
  if (chosen) return chosen;
  throw new Error(
    `${asked}: the conversation has ${countOf(messages.length, "message")} of yours`,
  );
}

/**
 * Returns what a user is told who goes on from before a message.
 *
 * @param commands those of the server
 */
export function rewindNotice(
  { taskId }: UserMessage,
  commands: readonly SlashCommand[],
): string {
  const restores = commands.some(({ name }) => name === "restore");
  return `a new conversation goes on from before this message; task ${shortTaskId(taskId)} stays as it is, and files do${restores ? ": /restore puts them back" : ""}`;
}

/** Returns the task of another conversation; undefined if it is gone. */
async function origin(
  client: DevtoolClient,
  taskId: string,
  signal: AbortSignal,
): Promise<Task | undefined> {
  try {
    return (await client.tasks.getTask({ taskId }, { signal })).task;
  } catch (reason) {
    if (ConnectError.from(reason).code === Code.NotFound) return undefined;
    throw reason;
  }
}

function messagesIn({ id, history }: Task): UserMessage[] {
  return history.filter(isOfUser).map(({ messageId, parts }) => {
    const text = parts
      .flatMap(({ content }) => (content.case === "text" ? content.value : []))
      .join("\n");
    return { taskId: id, messageId, text };
  });
}

/** Whether the user began with a message, and answered no question. */
function isOfUser(message: Message): boolean {
  const { role, forGoal } = message;
  return (
    role === Role.USER && !forGoal && confirmationsOf(message).length === 0
  );
}
