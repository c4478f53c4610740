import { create } from "@bufbuild/protobuf";
import { MessageDelivery, SenderSchema, TaskState } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import {
  begin,
  loggedUntilEnd,
  sent,
  text,
  until,
  waiting,
} from "../../test/queued-task.ts";
import { SteppedAgent } from "../../test/stepped-agent.ts";
import { Code, DevtoolError } from "../errors.ts";
import { MemoryTaskStore } from "../store/memory-task-store.ts";
import type { OpenTask } from "./open-task.ts";

describe("a message to a working task (STREAM-8)", () => {
  it("is queued until the turn ends, and the task stays working until the queue is empty", async () => {
    const agent = new SteppedAgent();
    const openTask = await begin(agent);
    await agent.turn();
    await openTask.accept(sent(text("second")));
    expect(waiting(openTask)).toEqual(["second"]);
    agent.endTurn();
    await agent.turn();
    expect(waiting(openTask)).toEqual([]);
    agent.endTurn();
    expect(await loggedUntilEnd(openTask)).toEqual([
      "created SUBMITTED",
      "stateChange WORKING",
      "messageQueued WORKING",
      "messageTaken WORKING",
      "stateChange COMPLETED",
    ]);
    expect(agent.heard).toEqual(["first", "second"]);
  });

  it("is taken in the order of arrival, after the text of the turn before it", async () => {
    const agent = new SteppedAgent();
    const openTask = await begin(agent);
    await agent.turn();
    await openTask.accept(sent(text("second")));
    await openTask.accept(sent(text("third")));
    agent.endTurn({ state: TaskState.INPUT_REQUIRED, text: "Which colour?" });
    await agent.turn();
    expect(
      openTask.task.history.map(({ parts }) => parts[0]?.content.value),
    ).toEqual(["first", "Which colour?", "second"]);
    expect(openTask.task.state).toBe(TaskState.WORKING);
    agent.endTurn();
    await agent.turn();
    agent.endTurn();
    await loggedUntilEnd(openTask);
    expect(agent.heard).toEqual(["first", "second", "third"]);
  });

  it("steers an agent that supports it: taken before the next step, ahead of messages for the next turn", async () => {
    const agent = new SteppedAgent({ takesSteering: true });
    const openTask = await begin(agent);
    await agent.turn();
    await openTask.accept(sent(text("later")));
    await openTask.accept(sent(text("now"), MessageDelivery.STEER));
    agent.step();
    await agent.stepped();
    expect(openTask.task.history.map(({ messageId }) => messageId)).toEqual([
      "first",
      "now",
    ]);
    expect(waiting(openTask)).toEqual(["later"]);
  });

  it("waits for the end of the turn when the agent cannot be steered, and the event says so", async () => {
    const agent = new SteppedAgent();
    const openTask = await begin(agent);
    await agent.turn();
    await openTask.accept(sent(text("now"), MessageDelivery.STEER));
    expect(
      openTask.task.queuedMessages.map(({ delivery }) => delivery),
    ).toEqual([MessageDelivery.QUEUE]);
  });

  it("waits for the end of the turn when it was sent with other roles", async () => {
    const agent = new SteppedAgent({ takesSteering: true });
    const openTask = await begin(agent);
    await agent.turn();
    const sender = create(SenderSchema, { roles: ["ops"] });
    const message = { ...text("now"), sender };
    await openTask.accept(sent(message, MessageDelivery.STEER));
    expect(
      openTask.task.queuedMessages.map(({ delivery }) => delivery),
    ).toEqual([MessageDelivery.QUEUE]);
  });

  it("is refused when 16 messages are queued, and nothing changes", async () => {
    const agent = new SteppedAgent();
    const openTask = await begin(agent);
    await agent.turn();
    for (let count = 1; count <= 16; count++) {
      await openTask.accept(sent(text(`m${count}`)));
    }
    const { sequence } = openTask.task;
    const refused = openTask.accept(sent(text("m17")));
    await expect(refused).rejects.toMatchObject({
      code: Code.ResourceExhausted,
    });
    await expect(refused).rejects.toThrow(
      'task "t1" has 16 messages waiting: limit is 16',
    );
    expect(openTask.task.sequence).toBe(sequence);
  });

  it("can be withdrawn while it is queued, but not after it was taken", async () => {
    const agent = new SteppedAgent();
    const openTask = await begin(agent);
    await agent.turn();
    await openTask.accept(sent(text("second")));
    await openTask.accept(sent(text("third")));
    await openTask.withdraw("second");
    expect(waiting(openTask)).toEqual(["third"]);
    agent.endTurn();
    await agent.turn();
    await expect(openTask.withdraw("third")).rejects.toThrow(
      'message "third" was already taken: it cannot be withdrawn',
    );
    await expect(openTask.withdraw("second")).rejects.toMatchObject({
      code: Code.NotFound,
    });
    agent.endTurn();
    await loggedUntilEnd(openTask);
    expect(agent.heard).toEqual(["first", "third"]);
  });

  it.each([
    [
      "a cancellation",
      (openTask: OpenTask) => openTask.cancel(),
      TaskState.CANCELED,
    ],
    [
      "a failure",
      async (_openTask: OpenTask, agent: SteppedAgent) =>
        agent.fail(new DevtoolError("no model", Code.Unavailable)),
      TaskState.FAILED,
    ],
  ] as const)("is named by %s as not taken", async (_name, end, state) => {
    const agent = new SteppedAgent();
    const openTask = await begin(agent);
    await agent.turn();
    await openTask.accept(sent(text("second")));
    await openTask.accept(sent(text("third")));
    await end(openTask, agent);
    const last = await until(openTask, (event) => event.state === state);
    expect(last.payload).toMatchObject({
      case: "stateChange",
      value: {
        text: 'messages that were not taken: "second", "third"',
        untakenMessageIds: ["second", "third"],
        ...(state === TaskState.FAILED && { error: "no model" }),
      },
    });
    expect(waiting(openTask)).toEqual([]);
    await openTask.accept(sent(text("fourth")));
    await agent.turn();
    expect(agent.heard).toEqual(["first", "fourth"]);
  });

  it("is refused by a slash command and by an agent that answers with one message", async () => {
    for (const created of [
      { command: { commandPath: ["stats"] } },
      { replyOnly: true },
    ]) {
      const agent = new SteppedAgent();
      const openTask = await begin(agent, new MemoryTaskStore(), created);
      await agent.turn();
      await expect(openTask.accept(sent(text("second")))).rejects.toMatchObject(
        {
          code: Code.FailedPrecondition,
        },
      );
    }
  });
});
