import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect";
import {
  type SendMessageRequest,
  StateChangeSchema,
  type TaskEvent,
  TaskEventSchema,
  TaskService,
  TaskState,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { createDevtoolClient } from "../devtool-client.ts";
import { createTaskView, type TaskView } from "./task-view.ts";

const { signal } = new AbortController();

describe("a message that a view sends before the one before it has an event", () => {
  it("is queued as soon as the task that the first one starts exists", async () => {
    const { view, server } = viewOfNewTask();
    const sent = ["one", "two", "three"].map((text) => view.send(text, signal));
    await server.received("one");
    server.accept.resolve();
    await Promise.all([server.received("two"), server.received("three")]);
    server.end.resolve();
    await Promise.all(sent);
    expect(server.requests).toEqual([
      { rpc: "streamMessage", text: "one", taskId: "", agent: "coder" },
      { rpc: "sendMessage", text: "two", taskId: "task-1", agent: undefined },
      { rpc: "sendMessage", text: "three", taskId: "task-1", agent: undefined },
    ]);
  });

  it("is queued in a task that waited for the user", async () => {
    const { view, server } = viewOfWaitingTask();
    const leaving = new AbortController();
    const following = view.follow(leaving.signal);
    await shows(view, TaskState.INPUT_REQUIRED);
    const sent = ["one", "two"].map((text) => view.send(text, signal));
    await server.received("one");
    server.accept.resolve();
    await server.received("two");
    server.end.resolve();
    await Promise.all(sent);
    leaving.abort();
    await following;
    expect(server.requests).toMatchObject([
      { rpc: "streamMessage", text: "one", taskId: "task-1" },
      { rpc: "sendMessage", text: "two", taskId: "task-1" },
    ]);
  });

  it("starts the task if the first one is refused", async () => {
    const { view, server } = viewOfNewTask();
    const first = view.send("one", signal);
    const second = view.send("two", signal);
    await server.received("one");
    server.accept.reject(new ConnectError("too long", Code.InvalidArgument));
    await expect(first).rejects.toThrow("too long");
    server.end.resolve();
    await second;
    expect(server.requests[1]).toEqual({
      rpc: "streamMessage",
      text: "two",
      taskId: "",
      agent: "coder",
    });
  });

  it("is not sent after its sender has left", async () => {
    const { view, server } = viewOfNewTask();
    const leaving = new AbortController();
    const first = view.send("one", signal);
    const second = view.send("two", leaving.signal);
    const third = view.send("three", signal);
    await server.received("one");
    leaving.abort();
    await expect(second).rejects.toThrow("abort");
    expect(view.snapshot().unsent).toHaveLength(2);
    server.accept.resolve();
    await server.received("three");
    server.end.resolve();
    await Promise.all([first, third]);
    expect(server.requests.map(({ text }) => text)).toEqual(["one", "three"]);
  });
});

describe("U1: a message that arrives at the end of the turn before it", () => {
  it.each(["before its answer", "after its answer"] as const)(
    "is read to its end, if the end of that turn comes %s",
    async (order) => {
      const { COMPLETED, WORKING } = TaskState;
      const [asked, read] = [signalled(), signalled()];
      const transport = createRouterTransport(({ service }) => {
        service(TaskService, {
          async *streamMessage() {
            yield { event: event(1n, WORKING) };
            await (order === "before its answer" ? asked : read).promise;
            yield { event: event(2n, COMPLETED) };
          },
          async sendMessage() {
            asked.resolve();
            if (order === "before its answer") await read.promise;
            return { task: { id: "task-1", sequence: 3n, state: WORKING } };
          },
          async *subscribeTask({ afterSequence }) {
            if (afterSequence > 2n) return;
            yield { event: event(3n, WORKING) };
            yield { event: event(4n, COMPLETED) };
          },
        });
      });
      const view = createTaskView(createDevtoolClient(transport));
      view.subscribe(() => {
        const { sequence } = view.snapshot().task;
        if (sequence === (order === "before its answer" ? 2n : 1n)) {
          read.resolve();
        }
      });
      await Promise.all([view.send("one", signal), view.send("two", signal)]);
      expect(view.snapshot().task.sequence).toBe(4n);
    },
  );

  it("is refused with the reason if that turn leaves it untaken", async () => {
    const { CANCELED, WORKING } = TaskState;
    const asked = signalled();
    let untaken = "";
    const transport = createRouterTransport(({ service }) => {
      service(TaskService, {
        async *streamMessage() {
          yield { event: event(1n, WORKING) };
          await asked.promise;
          const value = create(StateChangeSchema, {
            untakenMessageIds: [untaken],
          });
          const end = event(2n, CANCELED);
          yield { event: { ...end, payload: { case: "stateChange", value } } };
        },
        sendMessage({ message }) {
          untaken = message?.messageId ?? "";
          asked.resolve();
          return { task: { id: "task-1", sequence: 1n, state: WORKING } };
        },
        async *subscribeTask() {},
      });
    });
    const view = createTaskView(createDevtoolClient(transport));
    void view.send("one", signal).catch(() => undefined);
    await expect(view.send("two", signal)).rejects.toThrow(
      "[aborted] the task has ended before the agent took the message",
    );
  });
});

const signalled = (): PromiseWithResolvers<void> => Promise.withResolvers();

function viewOfNewTask(): { readonly view: TaskView; readonly server: Server } {
  const server = new Server(0n);
  const view = createTaskView(server.client(), {
    session: { sessionSettings: { agent: "coder" } },
  });
  return { view, server };
}

function viewOfWaitingTask(): {
  readonly view: TaskView;
  readonly server: Server;
} {
  const server = new Server(1n);
  return {
    view: createTaskView(server.client(), { taskId: "task-1" }),
    server,
  };
}

interface ReceivedRequest {
  readonly rpc: "sendMessage" | "streamMessage";
  readonly text: unknown;
  readonly taskId: string;
  readonly agent: string | undefined;
}

/**
 * A server of one task, which answers the first message when it is told to
 * accept it, and works until it is told to end.
 */
class Server {
  readonly requests: ReceivedRequest[] = [];
  readonly accept = Promise.withResolvers<void>();
  readonly end = Promise.withResolvers<void>();
  readonly #before: bigint;
  readonly #received = new Map<unknown, PromiseWithResolvers<void>>();
  #isRefused = false;

  /**
   * @param before the number of events that the task has
   */
  constructor(before: bigint) {
    this.#before = before;
  }

  client() {
    const next = this.#before + 1n;
    const { WORKING, INPUT_REQUIRED, COMPLETED } = TaskState;
    const transport = createRouterTransport(({ service }) => {
      service(TaskService, {
        streamMessage: ({ request }) => this.#exchange(request, next),
        sendMessage: (request) => {
          this.#receive("sendMessage", request);
          return { task: { id: "task-1", sequence: next, state: WORKING } };
        },
        subscribeTask: async function* ({ afterSequence }, { signal }) {
          if (next === 1n) return;
          if (afterSequence === 0n) yield { event: event(1n, INPUT_REQUIRED) };
          await new Promise((resolve) => {
            signal.addEventListener("abort", resolve, { once: true });
          });
          yield { event: event(2n, COMPLETED) };
        },
      });
    });
    return createDevtoolClient(transport);
  }

  /** Resolves when a message with a text has arrived. */
  received(text: string): Promise<void> {
    return this.#arrival(text).promise;
  }

  async *#exchange(
    request: SendMessageRequest | undefined,
    next: bigint,
  ): AsyncIterable<{ readonly event: TaskEvent }> {
    this.#receive("streamMessage", request);
    if (!this.#isRefused) {
      await this.accept.promise.catch((reason: unknown) => {
        this.#isRefused = true;
        throw reason;
      });
    }
    yield { event: event(next, TaskState.WORKING) };
    await this.end.promise;
    yield { event: event(next + 1n, TaskState.COMPLETED) };
  }

  #receive(
    rpc: ReceivedRequest["rpc"],
    request: SendMessageRequest | undefined,
  ): void {
    const text = request?.message?.parts[0]?.content.value;
    const taskId = request?.taskId ?? "";
    const agent = request?.sessionSettings?.agent;
    this.requests.push({ rpc, text, taskId, agent });
    this.#arrival(text).resolve();
  }

  #arrival(text: unknown): PromiseWithResolvers<void> {
    const arrival = this.#received.get(text) ?? Promise.withResolvers<void>();
    this.#received.set(text, arrival);
    return arrival;
  }
}

async function shows(view: TaskView, state: TaskState): Promise<void> {
  const shown = Promise.withResolvers<void>();
  const look = (): void => {
    if (view.snapshot().task.state === state) shown.resolve();
  };
  const stop = view.subscribe(look);
  look();
  await shown.promise;
  stop();
}

function event(sequence: bigint, state: TaskState): TaskEvent {
  const payload = { case: "stateChange", value: {} } as const;
  return create(TaskEventSchema, {
    taskId: "task-1",
    sequence,
    state,
    payload,
  });
}
