import { Code, ConnectError } from "@connectrpc/connect";
import type { DevtoolClient } from "@devtool/client";
import { oneLine } from "@devtool/internal/visible-text";
import { type Io, writeLine } from "./io.ts";

/** Timeout of canceling a task in milliseconds: the server may have stopped. */
const CANCEL_MS = 3_000;

/**
 * Cancels a task that the user interrupted with Ctrl-C, and prints its id and
 * what can be done with it.
 *
 * @param next what the user can do with the canceled task
 */
export async function cancelInterrupted(
  client: DevtoolClient,
  taskId: string,
  next: string,
  { stderr }: Pick<Io, "stderr">,
): Promise<void> {
  const task = `task ${oneLine(taskId)}`;
  try {
    await client.tasks.cancelTask(
      { taskId },
      { signal: AbortSignal.timeout(CANCEL_MS) },
    );
    writeLine(stderr, `${task} was canceled: ${next}`);
  } catch (reason) {
    const { code, rawMessage } = ConnectError.from(reason);
    // A task that ended at that moment is not one of a server that is gone.
    const problem =
      code === Code.FailedPrecondition || code === Code.NotFound
        ? rawMessage
        : "the server does not answer";
    writeLine(stderr, `${task} was not canceled: ${problem}`);
  }
}
