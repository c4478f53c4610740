import { setTimeout as delay } from "node:timers/promises";
import type { Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import {
  bearerInterceptor,
  confirmationPart,
  createDevtoolClient,
  type DevtoolClient,
  pendingToolCalls,
  streamMessage,
  textMessage,
} from "@devtool/client";
import {
  ApprovalMode,
  emptyTask,
  type Message,
  reduceTask,
  type Task,
  type TaskEvent,
} from "@devtool/schema";
import type { FleetHistory } from "./fleet-history.ts";

/** A client of a fleet, which notes what it is shown. */
export class FleetClient {
  readonly devtool: DevtoolClient;
  readonly #history: FleetHistory;
  readonly #signal: AbortSignal;
  readonly #refusals: string[];

  /** Adds to the refusals why a task could not be followed to its end. */
  constructor(
    place: { readonly url: string; readonly token: string },
    history: FleetHistory,
    signal: AbortSignal,
    refusals: string[],
  ) {
    const interceptors = [bearerInterceptor(place.token), noting(history)];
    this.devtool = createDevtoolClient(
      createConnectTransport({
        baseUrl: place.url,
        httpVersion: "1.1",
        interceptors,
      }),
    );
    this.#history = history;
    this.#signal = signal;
    this.#refusals = refusals;
  }

  /**
   * Starts tasks one after the other until a time, and approves what they ask.
   * Every other one runs its tool without asking.
   */
  async work(until: AbortSignal): Promise<void> {
    for (let round = 0; !until.aborted; round++) {
      try {
        await (round % 2 === 0 ? this.#askedTask() : this.#freeTask());
      } catch (reason) {
        this.#refusals.push(String(reason));
      }
    }
  }

  async #askedTask(): Promise<void> {
    const token = this.#history.witness.token();
    const script = `say 3\nrun echo ${token} >> effects.txt\nsay 3\ntext end`;
    const asking = await this.#follow(
      textMessage(token, script),
      token,
      ApprovalMode.DEFAULT,
    );
    await this.approve(asking, token);
  }

  /** Its tool runs after a while in which its server may be stopped. */
  async #freeTask(): Promise<void> {
    const token = this.#history.witness.token();
    const script = `say 3\nwait 600\nrun echo ${token} >> effects.txt\nsay 3\ntext end`;
    await this.#follow(textMessage(token, script), token, ApprovalMode.YOLO);
  }

  /** Approves all that a task asks, and follows it until it rests. */
  async approve(task: Task, token: string): Promise<void> {
    const parts = pendingToolCalls(task).map((call) =>
      confirmationPart(call, "proceed_once"),
    );
    if (parts.length === 0) return;
    await this.#follow(
      { ...textMessage(crypto.randomUUID(), ""), parts },
      token,
      ApprovalMode.UNSPECIFIED,
      task,
    );
  }

  async #follow(
    message: Message,
    token: string,
    approvalMode: ApprovalMode,
    from: Task = emptyTask(),
  ): Promise<Task> {
    const sequences: bigint[] = [];
    this.#history.readers.push(sequences);
    const request = {
      message,
      taskId: from.id,
      sessionSettings: { approvalMode },
    };
    const onLost = (): void => void this.#history.resumed++;
    // Longer than servers take to start again on a busy machine.
    const resuming = {
      maxAttempts: 200,
      baseDelayMs: 100,
      onLost,
      delay: shortDelay,
    };
    let task = from;
    for await (const event of streamMessage(
      this.devtool,
      request,
      this.#signal,
      resuming,
    )) {
      sequences.push(event.sequence);
      this.#history.witness.record(event, token);
      task = reduceTask(task, event);
    }
    return task;
  }
}

/**
 * Waits at most half a second: a server comes back sooner than the waits of a
 * client grow.
 */
async function shortDelay(ms: number, signal: AbortSignal): Promise<void> {
  await delay(Math.min(ms, 500), undefined, { signal });
}

/**
 * Notes the sequences that each stream carries, before the client looks at
 * them.
 */
function noting(history: FleetHistory): Interceptor {
  return (next) => async (request) => {
    const response = await next(request);
    if (!response.stream) return response;
    const sequences: bigint[] = [];
    history.connections.push(sequences);
    return { ...response, message: noteEach(response.message, sequences) };
  };
}

async function* noteEach<T extends object>(
  messages: AsyncIterable<T>,
  sequences: bigint[],
): AsyncIterable<T> {
  for await (const message of messages) {
    const event: TaskEvent | undefined =
      "event" in message && isEvent(message.event) ? message.event : undefined;
    if (event) sequences.push(event.sequence);
    yield message;
  }
}

function isEvent(value: unknown): value is TaskEvent {
  return (
    typeof value === "object" &&
    value !== null &&
    "sequence" in value &&
    typeof value.sequence === "bigint"
  );
}
