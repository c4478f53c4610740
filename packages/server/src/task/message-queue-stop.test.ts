import { TaskState } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import {
  begin,
  eventsOf,
  reopen,
  sent,
  text,
  until,
  waiting,
} from "../../test/queued-task.ts";
import { SteppedAgent } from "../../test/stepped-agent.ts";
import type { AgentEvent, AgentExecutor } from "../agent/agent-executor.ts";
import { MemoryTaskStore } from "../store/memory-task-store.ts";
import { readTask } from "./read-task.ts";

describe("a queued message when the turn or the server ends (STREAM-8)", () => {
  it("continues the task after a stop that interrupted the turn, with a notice that says so", async () => {
    const store = new MemoryTaskStore();
    const agent = new SteppedAgent();
    const openTask = await begin(agent, store);
    await agent.turn();
    await openTask.accept(sent(text("second")));
    await openTask[Symbol.asyncDispose]();
    expect((await readTask(store, "t1"))?.state).toBe(TaskState.WORKING);

    const next = new SteppedAgent();
    const reopened = await reopen(next, store);
    await next.turn();
    next.endTurn();
    await until(reopened, (event) => event.state === TaskState.COMPLETED);
    expect(next.heard).toEqual(["second"]);
    const notices = (await eventsOf(store)).flatMap(({ payload }) =>
      payload.case === "notice" ? [payload.value.text] : [],
    );
    expect(notices).toEqual([
      "The server stopped while the agent was working. It continues with the queued message.",
    ]);
  });

  it("starts no turn when the task is canceled while its turn ends", async () => {
    const agent = new ClosingAgent();
    const openTask = await begin(agent);
    await agent.closing.promise;
    await openTask.accept(sent(text("second")));
    const canceled = openTask.cancel();
    agent.closed.resolve();
    await canceled;
    expect(openTask.task.state).toBe(TaskState.CANCELED);
    expect(agent.turns).toBe(1);
  });

  it("waits for the next start when the server stops while the turn ends", async () => {
    const store = new MemoryTaskStore();
    const agent = new ClosingAgent();
    const openTask = await begin(agent, store);
    await agent.closing.promise;
    await openTask.accept(sent(text("second")));
    const stopped = openTask[Symbol.asyncDispose]();
    agent.closed.resolve();
    await stopped;
    expect(agent.turns).toBe(1);
    expect(openTask.idle).toBe(true);
    expect(waiting(openTask)).toEqual(["second"]);

    const next = new SteppedAgent();
    const reopened = await reopen(next, store);
    await next.turn();
    expect(next.heard).toEqual(["second"]);
    expect(
      reopened.task.history.map(({ parts }) => parts[0]?.content.value),
    ).toEqual(["first", "All done.", "second"]);
    await reopened[Symbol.asyncDispose]();
  });
});

/**
 * An agent that has ended its turn, and closes its resources when the test lets
 * it.
 */
class ClosingAgent implements AgentExecutor {
  readonly closing = Promise.withResolvers<void>();
  readonly closed = Promise.withResolvers<void>();
  turns = 0;

  modelFor(): string {
    return "";
  }

  async *execute(): AsyncIterable<AgentEvent> {
    this.turns++;
    try {
      yield {
        case: "end",
        value: { state: TaskState.COMPLETED, text: "All done." },
      };
    } finally {
      this.closing.resolve();
      await this.closed.promise;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}
