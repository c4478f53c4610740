import { TaskState } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import {
  AskingAgent,
  InquiringAgent,
  LeavingAgent,
} from "../../test/asking-agents.ts";
import {
  answer,
  begin,
  eventsOf,
  reopen,
  sent,
  text,
  until,
  waiting,
} from "../../test/queued-task.ts";
import { SteppedAgent } from "../../test/stepped-agent.ts";
import { MemoryTaskStore } from "../store/memory-task-store.ts";

describe("a message to a task with an open question (STREAM-8)", () => {
  it("does not answer it, but is queued behind it, also over a restart of the server", async () => {
    const store = new MemoryTaskStore();
    const agent = new AskingAgent();
    const openTask = await begin(agent, store);
    await until(openTask, ({ state }) => state === TaskState.INPUT_REQUIRED);
    const sequence = await openTask.accept(sent(text("second")));
    const { payload, state } =
      (await eventsOf(store)).find((event) => event.sequence === sequence) ??
      {};
    expect(state).toBe(TaskState.INPUT_REQUIRED);
    expect(
      payload?.case === "messageQueued" &&
        payload.value.openCalls.map(({ toolCallId }) => toolCallId),
    ).toEqual(["c1"]);
    await openTask[Symbol.asyncDispose]();

    const again = new AskingAgent();
    const reopened = await reopen(again, store);
    expect(waiting(reopened)).toEqual(["second"]);
    await reopened.accept(sent(answer("c1")));
    await until(reopened, (event) => event.state === TaskState.COMPLETED);
    expect(again.heard).toEqual(["first", "second"]);
  });

  it("is taken after a stop that ended the call with the open question", async () => {
    const store = new MemoryTaskStore();
    const openTask = await begin(new InquiringAgent(), store);
    await until(openTask, ({ state }) => state === TaskState.INPUT_REQUIRED);
    await openTask.accept(sent(text("second")));
    await openTask[Symbol.asyncDispose]();

    const next = new SteppedAgent();
    const reopened = await reopen(next, store);
    await next.turn();
    expect(next.heard).toEqual(["second"]);
    expect(reopened.task.state).toBe(TaskState.WORKING);
    await reopened[Symbol.asyncDispose]();
  });

  it("is queued behind a question that the agent left open at the end of its turn", async () => {
    const agent = new LeavingAgent();
    const openTask = await begin(agent);
    await openTask.accept(sent(text("second")));
    await until(openTask, ({ state }) => state === TaskState.INPUT_REQUIRED);
    agent.left.resolve();
    await until(
      openTask,
      ({ payload }) =>
        payload.case === "stateChange" && payload.value.text === "May I?",
    );
    expect(waiting(openTask)).toEqual(["second"]);
    await openTask.accept(sent(answer("c1")));
    await until(openTask, (event) => event.state === TaskState.COMPLETED);
    expect(agent.heard).toEqual(["first", "answer", "second"]);
  });
});
