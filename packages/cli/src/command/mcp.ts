import { Code, ConnectError } from "@connectrpc/connect";
import type { Port } from "@devtool/acp/port";
import { callWithRetry, subscribeTask } from "@devtool/client";
import {
  type PortAgent,
  type PortTasks,
  serveMcpStdio,
} from "@devtool/mcp/operator";
import { DevtoolError } from "@devtool/server";
import { createNotifier } from "../connection/connection.ts";
import { type EditorOptions, EditorPorts } from "../editor-ports.ts";
import { ExitCode } from "../exit-code.ts";
import { type Io, interruptSignal } from "../io.ts";

/**
 * `devtool mcp`: an MCP server on standard input and output, in front of an
 * agent server.
 *
 * Standard output carries messages of MCP alone. Ends when the host closes
 * standard input; tasks of a running server go on.
 */
export async function mcp(options: EditorOptions, io: Io): Promise<number> {
  await using ports = new EditorPorts(options, io);
  using interrupt = interruptSignal(io);
  const port = await ports.find(undefined);
  await serveMcpStdio(
    {
      stdin: io.stdin,
      stdout: io.stdout,
      version: port.agent.version,
      agents: agentsOf(port),
      tasks: clientTasks(port),
      workspace: port.workspace,
      log: createNotifier(io),
    },
    interrupt.signal,
  );
  return ExitCode.OK;
}

function agentsOf({ agent, agents }: Port): PortAgent[] {
  const offered = agents?.size ? [...agents] : [["", agent] as const];
  return offered.map(
    ([name, { name: displayName, description = "", skills = [] }]) => ({
      name,
      displayName,
      description,
      skills: skills.map((skill) => ({
        name: skill.name,
        description: skill.description,
      })),
    }),
  );
}

/** Returns the tasks of a client, whose lost connections are made again. */
function clientTasks({ client }: Port): PortTasks {
  const { tasks } = client;
  const call = <T>(
    run: (signal: AbortSignal) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> => callWithRetry(run, {}, signal).catch(rethrow);
  return {
    send: async (request, signal) => {
      const { task } = await call(
        (each) => tasks.sendMessage(request, { signal: each }),
        signal,
      );
      if (task) return task;
      throw new DevtoolError("the answer has no task", Code.Internal);
    },
    get: async (taskId, signal) => {
      const { task } = await call(
        (each) => tasks.getTask({ taskId }, { signal: each }),
        signal,
      );
      if (task) return task;
      throw new DevtoolError("the answer has no task", Code.Internal);
    },
    follow: async function* (taskId, afterSequence, signal) {
      try {
        yield* subscribeTask(client, { taskId, afterSequence }, signal);
      } catch (reason) {
        rethrow(reason);
      }
    },
    cancel: async (taskId, signal) => {
      await call(
        (each) => tasks.cancelTask({ taskId }, { signal: each }),
        signal,
      );
    },
    list: (page, signal) =>
      call((each) => tasks.listTasks(page, { signal: each }), signal),
  };
}

/** Throws what a server says as the error that a caller may see. */
function rethrow(reason: unknown): never {
  const { code, rawMessage } = ConnectError.from(reason);
  throw new DevtoolError(rawMessage, code, { cause: reason });
}
