import { open } from "node:fs/promises";
import { basename } from "node:path";
import { textMessage } from "@devtool/client";
import { defined } from "@devtool/internal/json";
import { oneLine } from "@devtool/internal/visible-text";
import {
  emptyTask,
  type Goal,
  isInterrupted,
  type Part,
  reduceTask,
  type Task,
  type TaskEvent,
} from "@devtool/schema";
import { approvalModeOf, assertNarrower } from "../approval-mode.ts";
import {
  attachedBytes,
  imageType,
  MAX_ATTACHED_BYTES,
  readAttachment,
} from "../attachment.ts";
import {
  type JobOptions,
  type JobServer,
  serverForJob,
} from "../connection/server-for-job.ts";
import { continuedTaskId } from "../continued-task.ts";
import { converse } from "../conversation.ts";
import { errorMessage, UsageError } from "../errors.ts";
import { ExitCode } from "../exit-code.ts";
import { type GoalOptions, readGoal } from "../goal-options.ts";
import { cancelInterrupted } from "../interrupted-task.ts";
import { type Io, interruptSignal, writeLine } from "../io.ts";
import { LastMessage } from "../last-message.ts";
import { type PromptOptions, readPrompt } from "../prompt-source.ts";
import {
  type CommandConversation,
  createConversation,
  type SessionOptions,
  sessionSettings,
} from "../session.ts";
import { shortTaskId } from "../task-id.ts";
import { type ForkOptions, forkPoint } from "../user-messages.ts";

/** The options of `devtool run`. */
export interface RunOptions
  extends JobOptions,
    SessionOptions,
    PromptOptions,
    ForkOptions,
    GoalOptions {
  /** The name of the job's approval mode. Default: the operator's. */
  readonly approvalMode?: string;
  /** The name of the agent, on a server with several. Default: its first. */
  readonly agent?: string;
  /** Files of images to send with the prompt. */
  readonly image?: readonly string[];
  /** More parts of the prompt. Default: none. */
  readonly parts?: readonly Part[];
  /**
   * File to write the agent's last message to. It is emptied when the job
   * starts.
   */
  readonly outputLastMessage?: string;
}

/**
 * `devtool run`: gives an agent a task and follows it to its end.
 *
 * Starts a server for the duration of the task when none is running that allows
 * the workspace.
 *
 * @param words the prompt; `-` or undefined for that on standard input
 */
export async function run(
  words: string | undefined,
  options: RunOptions,
  io: Io,
): Promise<number> {
  const goal = readGoal(words, options);
  const prompt = options.goal ?? (await readPrompt(words, options, io));
  const images = await readImages(options.image ?? []);
  const { outputLastMessage } = options;
  const opening =
    outputLastMessage === undefined ? undefined : open(outputLastMessage, "w");
  await using output = await opening?.catch((reason: unknown) => {
    const problem = errorMessage(reason);
    throw new Error(
      `file "${outputLastMessage}" for the last message cannot be written: ${problem}`,
      { cause: reason },
    );
  });
  await using server = await serverForJob(options, io);
  assertNarrower(approvalModeOf(options.approvalMode), server.approvalMode);
  const conversation = createConversation(
    server.client,
    { ...options, clientLabel: "devtool run" },
    io,
  );
  const said = new LastMessage(server.foreign === "plain" ? "answer" : "apart");
  const more = [...images, ...(options.parts ?? [])];
  const { task, exitCode } = await followJob([prompt, ...more], options, {
    server,
    conversation,
    said,
    goal,
    io,
  });
  await output?.writeFile(said.text() || task.stateText);
  return exitCode;
}

/**
 * Reads images. Throws for a name without the ending of an image, for a file
 * that cannot be read, and for files that are too large.
 */
async function readImages(paths: readonly string[]): Promise<Part[]> {
  const parts: Part[] = [];
  for (const path of paths) {
    if (imageType(path) === undefined) {
      throw new UsageError(
        `image "${path}" has no supported type: give a .png, .jpg, .gif or .webp`,
      );
    }
    const read = await readAttachment(path, basename(path)).catch(
      (reason: unknown) => {
        throw new Error(
          `image "${path}" cannot be read: ${errorMessage(reason)}`,
          { cause: reason },
        );
      },
    );
    if (typeof read === "string") throw new Error(`image ${read}`);
    parts.push(read);
  }
  const size = parts.reduce((sum, part) => sum + attachedBytes(part), 0);
  if (size > MAX_ATTACHED_BYTES) {
    throw new Error(
      `the images are ${size} bytes in total: limit is ${MAX_ATTACHED_BYTES}, so leave some out`,
    );
  }
  return parts;
}

interface Job {
  readonly server: JobServer;
  readonly conversation: CommandConversation;
  readonly said: LastMessage;
  readonly goal: Goal | undefined;
  readonly io: Io;
}

/**
 * Sends the prompt with its images and follows its task. Ctrl-C cancels the
 * task.
 */
async function followJob(
  [prompt, ...others]: readonly [string, ...Part[]],
  { approvalMode, agent, ...options }: RunOptions,
  { server, conversation, said, goal, io }: Job,
): Promise<{ readonly task: Task; readonly exitCode: number }> {
  using interrupt = interruptSignal(io);
  let task: Task = emptyTask();
  const onEvent = (event: TaskEvent): void => {
    task = reduceTask(task, event);
    said.add(event);
    conversation.onEvent(event);
  };
  const { workspace, model, resume } = server;
  const text = textMessage(conversation.nextId(), prompt);
  const message = { ...text, parts: [...text.parts, ...others] };
  const named = defined({ task: options.task, approvalMode });
  const { client } = server;
  const { signal } = interrupt;
  const taskId = await continuedTaskId(client, named, signal);
  const fork = await forkPoint(client, taskId, options, signal);
  const request = {
    message,
    taskId: fork ? "" : (taskId ?? ""),
    ...sessionSettings({ workspace, model, approvalMode, agent }),
  };
  try {
    task = await converse(
      { request, goal, fork },
      { ...conversation, resume, onEvent },
      interrupt.signal,
    );
    if (!options.json) {
      writeLine(io.stderr, closingLine(task, options, server));
    }
    return { task, exitCode: conversation.exitCode(task) };
  } catch (reason) {
    if (!interrupt.signal.aborted) throw reason;
    if (task.id !== "") {
      const next =
        server.log === ""
          ? `go on with --task ${taskHint(task.id, options, server)} and another prompt`
          : `its log is ${server.log}`;
      await cancelInterrupted(server.client, task.id, next, io);
    }
    return { task, exitCode: ExitCode.CANCELED };
  }
}

/** Returns the last line about a task that has come to rest. */
function closingLine(
  { id, state }: Task,
  options: JobOptions,
  server: JobServer,
): string {
  if (id === "") return "the agent answered with a message, without a task";
  const task = `task ${oneLine(id)}`;
  if (server.log !== "") return `${task}, log ${server.log}`;
  return isInterrupted(state)
    ? `${task}, waits for you: answer with devtool chat --task ${taskHint(id, options, server)}`
    : task;
}

/**
 * Returns the id of a task, and the options by which its server is found, as a
 * command takes them. Agents of others need not find a task by the beginning of
 * its id.
 */
function taskHint(
  id: string,
  { url, protocol }: JobOptions,
  { foreign }: Pick<JobServer, "foreign">,
): string {
  return [
    oneLine(foreign === undefined ? shortTaskId(id) : id),
    url && `--url ${oneLine(url)}`,
    protocol && `--protocol ${protocol}`,
  ]
    .filter((word) => word)
    .join(" ");
}
