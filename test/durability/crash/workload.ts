import type { Agent } from "node:http";
import type { Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import {
  bearerInterceptor,
  confirmationPart,
  createDevtoolClient,
  type DevtoolClient,
  pendingToolCalls,
} from "@devtool/client";
import {
  emptyTask,
  endsExchange,
  reduceTask,
  type Task,
  type TaskEvent,
  type ToolCall,
} from "@devtool/schema";
import type { ServerInfo } from "@devtool/schema/operator";

/**
 * The events that clients of a crashing server received, over all its restarts.
 */
export class Witness {
  /** Each event that a client got, by task and sequence. */
  readonly seen = new Map<string, Map<bigint, TaskEvent>>();
  /** The token that each task's tool writes. */
  readonly tokens = new Map<string, string>();
  #next = 0;

  token(): string {
    return `token-${this.#next++}`;
  }

  record(event: TaskEvent, token: string): void {
    const events = this.seen.get(event.taskId) ?? new Map<bigint, TaskEvent>();
    events.set(event.sequence, event);
    this.seen.set(event.taskId, events);
    this.tokens.set(event.taskId, token);
  }
}

/** Connects to a server. */
export function clientFor(
  server: Pick<ServerInfo, "url" | "token">,
): DevtoolClient {
  return createDevtoolClient(transportTo(server));
}

/**
 * Sends requests to a server with its token. Default agent: the one that all
 * share.
 */
export function transportTo(
  { url, token }: Pick<ServerInfo, "url" | "token">,
  agent?: Agent,
): Transport {
  const interceptors = [bearerInterceptor(token)];
  return createConnectTransport({
    baseUrl: url,
    httpVersion: "1.1",
    interceptors,
    nodeOptions: { agent },
  });
}

/** How to approve: for whom, and by which option; default: once. */
export interface Approving {
  readonly token: string;
  readonly witness: Witness;
  readonly signal: AbortSignal;
  readonly optionOf?: (call: ToolCall) => string;
}

/** Approves all that a task asks, and follows the exchange. */
export async function approve(
  client: DevtoolClient,
  task: Task,
  { token, witness, signal, optionOf = () => "proceed_once" }: Approving,
): Promise<Task> {
  const parts = pendingToolCalls(task).map((call) =>
    confirmationPart(call, optionOf(call)),
  );
  if (parts.length === 0) return task;
  const request = {
    message: { messageId: crypto.randomUUID(), parts },
    taskId: task.id,
  };
  return fold(
    client.tasks.streamMessage({ request }, { signal }),
    { token, witness },
    task,
  );
}

/** Remembers the events of a stream, and gives the task that they make. */
export async function fold(
  responses: AsyncIterable<{ readonly event?: TaskEvent | undefined }>,
  { token, witness }: { readonly token: string; readonly witness: Witness },
  from: Task = emptyTask(),
): Promise<Task> {
  let task = from;
  for await (const { event } of responses) {
    if (!event) continue;
    witness.record(event, token);
    task = reduceTask(task, event);
  }
  return task;
}

/** Reads a task's log until the task rests. */
export async function settle(
  client: DevtoolClient,
  taskId: string,
  signal: AbortSignal,
): Promise<TaskEvent[]> {
  const { task } = await client.tasks.getTask({ taskId }, { signal });
  const head = task?.sequence ?? 0n;
  const log: TaskEvent[] = [];
  // Leaving the loop ends no call: it would hold its connection, and a server
  // takes 4,096 of them.
  const left = new AbortController();
  const limits = AbortSignal.any([signal, left.signal]);
  for await (const { event } of client.tasks.subscribeTask(
    { taskId },
    { signal: limits },
  )) {
    if (!event) continue;
    log.push(event);
    if (event.sequence >= head && endsExchange(event)) break;
  }
  left.abort();
  return log;
}
