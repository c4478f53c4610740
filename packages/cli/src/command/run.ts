import { textMessage } from "@devtool/client";
import { emptyTask, reduceTask, type Task, type TaskEvent } from "@devtool/schema";
import { converse } from "../conversation.ts";
import { ExitCode } from "../exit-code.ts";
import { type Io, writeLine } from "../io.ts";
import { type JobOptions, serverForJob } from "../server-for-job.ts";
import { createConversation, interruptSignal, type SessionOptions, sessionSettings } from "../session.ts";

/** The options of `devtool run`. */
export interface RunOptions extends JobOptions, SessionOptions {}

/**
 * `devtool run`: gives an agent a task and follows it to its end.
 *
 * Starts a server for the duration of the task when none is running that allows the workspace.
 */
export async function run(prompt: string, options: RunOptions, io: Io): Promise<number> {
  await using server = await serverForJob(options, io);
  using interrupt = interruptSignal(io);
  const conversation = createConversation(server.client, options, io);
  const taskId = options.task ?? "";
  let task: Task = emptyTask();
  const onEvent = (event: TaskEvent): void => {
    task = reduceTask(task, event);
    conversation.onEvent(event);
  };
  const request = { message: textMessage(conversation.nextId(), prompt), taskId, ...sessionSettings(server.workspace) };
  try {
    task = await converse({ request }, { ...conversation, onEvent }, interrupt.signal);
    if (!options.json) writeLine(io.stderr, `task ${task.id}${server.log === "" ? "" : `, log ${server.log}`}`);
    return conversation.exitCode(task);
  } catch (reason) {
    if (!interrupt.signal.aborted) throw reason;
    if (task.id !== "") {
      // The server may have stopped.
      const limit = { signal: AbortSignal.timeout(CANCEL_MS) };
      await server.client.tasks.cancelTask({ taskId: task.id }, limit).catch(() => {
        writeLine(io.stderr, `task ${task.id} was not canceled: the server does not answer`);
      });
    }
    return ExitCode.CANCELED;
  }
}

/** Timeout of canceling a task in milliseconds. */
const CANCEL_MS = 3_000;
