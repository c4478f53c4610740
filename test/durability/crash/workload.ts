import type { Agent } from "node:http";
import type { Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import {
  bearerInterceptor,
  confirmationPart,
  createDevtoolClient,
  type DevtoolClient,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import {
  emptyTask,
  reduceTask,
  type Task,
  type TaskEvent,
  type ToolCall,
} from "@devtool/schema";
import type { ServerInfo } from "@devtool/schema/operator";

/** An event that somebody waits for. */
interface Awaited {
  readonly isWanted: (event: TaskEvent) => boolean;
  readonly resolve: () => void;
}

/**
 * The events that clients of a crashing server received, over all its restarts.
 */
export class Witness {
  /** Each event that a client got, by task and sequence. */
  readonly seen = new Map<string, Map<bigint, TaskEvent>>();
  /** The token that each task's tool writes. */
  readonly tokens = new Map<string, string>();
  #next = 0;
  #awaited: Awaited | undefined;

  /**
   * Resolves when a client is shown an event from now on. Default: any event.
   * One at a time is waited for.
   */
  nextEvent(
    isWanted: (event: TaskEvent) => boolean = () => true,
  ): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#awaited = { isWanted, resolve };
    return promise;
  }

  token(): string {
    return `token-${this.#next++}`;
  }

  record(event: TaskEvent, token: string): void {
    const events = this.seen.get(event.taskId) ?? new Map<bigint, TaskEvent>();
    events.set(event.sequence, event);
    this.seen.set(event.taskId, events);
    this.tokens.set(event.taskId, token);
    if (this.#awaited?.isWanted(event)) this.#awaited.resolve();
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

/**
 * Starts tasks one after the other, approves what they ask, and remembers all
 * it is shown; until the signal aborts.
 */
export async function writer(
  client: DevtoolClient,
  witness: Witness,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const token = witness.token();
    const script = `say 3\nrun echo ${token} >> effects.txt\nsay 3\nread effects.txt x3\ntext end`;
    const request = { message: textMessage(token, script) };
    const asked = await fold(
      client.tasks.streamMessage({ request }, { signal }),
      { token, witness },
    );
    await approve(client, asked, { token, witness, signal });
  }
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
