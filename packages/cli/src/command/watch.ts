import { subscribeTask } from "@devtool/client";
import { emptyTask, reduceTask } from "@devtool/schema";
import {
  type ConnectionOptions,
  createNotifier,
  openConnection,
} from "../connection/connection.ts";
import { ExitCode } from "../exit-code.ts";
import { type Io, interruptSignal } from "../io.ts";
import { createPrinter } from "../session.ts";
import { exitCodeFor } from "../task-exit-code.ts";
import { findTaskId } from "../task-id.ts";

/** The options of `devtool watch`. */
export interface WatchOptions extends ConnectionOptions {
  readonly json?: true;
}

/**
 * `devtool watch`: follows a task from its first event to its end, including
 * the user's messages. Ctrl-C stops following; the task continues.
 */
export async function watch(
  taskId: string,
  options: WatchOptions,
  io: Io,
): Promise<number> {
  using interrupt = interruptSignal(io);
  const { client, resume } = await openConnection(
    options,
    io,
    createNotifier(io),
    interrupt.signal,
  );
  const id = await findTaskId(client, taskId, interrupt.signal);
  const print = createPrinter(options, io, "both");
  let task = emptyTask();
  try {
    for await (const event of subscribeTask(
      client,
      { taskId: id },
      interrupt.signal,
      resume,
    )) {
      task = reduceTask(task, event);
      print(event);
    }
    return exitCodeFor(task.state);
  } catch (reason) {
    if (!interrupt.signal.aborted) throw reason;
    return ExitCode.OK;
  }
}
