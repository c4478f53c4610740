import { randomUUID } from "node:crypto";
import type { Readable, Writable } from "node:stream";
import {
  StdioServerTransport,
  serveStdio,
} from "@modelcontextprotocol/server/stdio";
import { CALL_MS } from "./calls.ts";
import { ListeningTransport } from "./listening-transport.ts";
import { createMcpServer } from "./mcp-server.ts";
import type { PortAgent, PortTasks } from "./port.ts";

/** Options of `serveMcpStdio`. */
export interface McpStdioOptions {
  readonly stdin: Readable;
  readonly stdout: Writable;
  /** The version of the server. */
  readonly version: string;
  /** The agents that the host can call, the default one first. */
  readonly agents: readonly PortAgent[];
  /** The tasks of the host's user. */
  readonly tasks: PortTasks;
  /**
   * Absolute path of the directory of tasks that name none. Default: the
   * server's.
   */
  readonly workspace?: string | undefined;
  /** Receives messages for the operator. */
  readonly log: (text: string) => void;
}

/** Serves a host until it closes its end or the signal aborts. */
export async function serveHost(
  { stdin, stdout, version, agents, tasks, workspace, log }: McpStdioOptions,
  signal: AbortSignal,
): Promise<void> {
  const closed = Promise.withResolvers<void>();
  const handle = serveStdio(
    () =>
      createMcpServer({
        version,
        agents,
        workspace,
        callMs: CALL_MS,
        tasksOf: () => tasks,
        closingStopsWork: () => false,
        nextId: randomUUID,
        onError: (reason) => log(String(reason)),
      }),
    {
      transport: new ListeningTransport(
        new StdioServerTransport(stdin, stdout),
        tasks,
        (reason) => log(String(reason)),
      ),
      onerror: (error) => log(error.message),
    },
  );
  stdin.once("close", closed.resolve).once("end", closed.resolve);
  signal.addEventListener("abort", () => closed.resolve(), { once: true });
  await closed.promise;
  await handle.close();
}
