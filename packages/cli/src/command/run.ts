import { resolve } from "node:path";
import { type DevtoolClient, textMessage } from "@devtool/client";
import { emptyTask, reduceTask, type Task, type TaskEvent } from "@devtool/schema";
import { type ConnectionOptions, clientOf, findServer } from "../connection.ts";
import { converse } from "../conversation.ts";
import { defaultDataDirectory } from "../discovery.ts";
import { ExitCode, exitCodeOf } from "../exit-code.ts";
import { type Io, writeLine } from "../io.ts";
import { conversationOf, interruptSignal, type SessionOptions, settingsOf } from "../session.ts";

/** The options of `devtool run`. */
export interface RunOptions extends ConnectionOptions, SessionOptions {
  readonly workspace?: string;
  readonly task?: string;
}

/** `devtool run`: one job, followed to its end. Without a server it starts one of its own for the time of the job. */
export async function run(prompt: string, options: RunOptions, io: Io): Promise<number> {
  await using server = await serverFor(options, io);
  using interrupt = interruptSignal(io);
  using conversation = conversationOf(server.client, options, io);
  const taskId = options.task ?? "";
  let seen: Task = emptyTask();
  const onEvent = (event: TaskEvent): void => {
    seen = reduceTask(seen, event);
    conversation.onEvent(event);
  };
  const request = { message: textMessage(conversation.nextId(), prompt), taskId, ...settingsOf(options.workspace) };
  try {
    const task = await converse({ request }, { ...conversation, onEvent }, interrupt.signal);
    if (!options.json) writeLine(io.stderr, `task ${task.id}`);
    return exitCodeOf(task.state);
  } catch (reason) {
    if (!interrupt.signal.aborted) throw reason;
    if (seen.id !== "") await server.client.tasks.cancelTask({ taskId: seen.id });
    return ExitCode.CANCELED;
  }
}

/** A server to talk to, closed afterwards when it is our own. */
interface ServerForRun extends AsyncDisposable {
  readonly client: DevtoolClient;
}

async function serverFor(options: RunOptions, io: Io): Promise<ServerForRun> {
  const protocol = options.protocol ?? "connect";
  const address = await findServer(options, io);
  if (address) return { client: await clientOf(address, protocol), [Symbol.asyncDispose]: () => Promise.resolve() };
  const { createServer } = await import("@devtool/server");
  const { agentOptions } = await import("../agent-options.ts");
  const agents = await agentOptions(undefined, resolve(options.data ?? defaultDataDirectory(io.env)), io);
  const server = await createServer({ ...agents, workspace: resolve(options.workspace ?? ".") });
  const client = await clientOf(server, protocol);
  return { client, [Symbol.asyncDispose]: () => server.close() };
}
