import { connect } from "node:net";
import { textMessage } from "@devtool/client";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { TaskState } from "@devtool/schema";
import {
  type AgentEvent,
  type AgentExecutor,
  createServer,
  type Turn,
} from "@devtool/server";
import { expect, it } from "vitest";
import { clientOf } from "../client-of.ts";

it("a server that stops takes no connection while a turn ends, and tells the stream of the turn what became of it", async () => {
  const workspace = temporaryDirectory();
  const agent = new SlowAgent();
  const slow = {
    about: { name: "Slow", description: "Ends slowly." },
    open: () => ({ createExecutor: () => agent }),
  };
  const server = await createServer({ workspace, agents: { slow } });
  const stream = clientOf(server).tasks.streamMessage({
    request: { message: textMessage("m1", "hi") },
  });
  const events = stream[Symbol.asyncIterator]();
  await events.next();
  await agent.works;
  const closed = server.close();
  await agent.isToldToStop;
  expect(await connectsTo(server.url)).toBe(false);
  agent.end();
  let state = TaskState.UNSPECIFIED;
  for (let next = await events.next(); !next.done; next = await events.next()) {
    state = next.value.event?.state ?? state;
  }
  expect(state).toBe(TaskState.INPUT_REQUIRED);
  await closed;
});

/**
 * An agent that works until it is told to stop, and then takes until its test
 * lets it end.
 */
class SlowAgent implements AgentExecutor {
  readonly #works = Promise.withResolvers<void>();
  readonly #stops = Promise.withResolvers<void>();
  readonly #ends = Promise.withResolvers<void>();

  get works(): Promise<void> {
    return this.#works.promise;
  }

  get isToldToStop(): Promise<void> {
    return this.#stops.promise;
  }

  end(): void {
    this.#ends.resolve();
  }

  modelFor(): string {
    return "";
  }

  async *execute(_turn: Turn, signal: AbortSignal): AsyncGenerator<AgentEvent> {
    signal.addEventListener("abort", () => this.#stops.resolve());
    this.#works.resolve();
    await this.#ends.promise;
    signal.throwIfAborted();
    yield { case: "text", value: "done" };
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

/** Whether a connection can be made. */
async function connectsTo(url: string): Promise<boolean> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  const { promise, resolve } = Promise.withResolvers<boolean>();
  socket
    .once("connect", () => resolve(true))
    .once("error", () => resolve(false));
  const connects = await promise;
  socket.destroy();
  return connects;
}
