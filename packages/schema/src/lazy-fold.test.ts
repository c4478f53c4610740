import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { CALL_CHAIN_URI } from "@devtool/internal/call-chain-uri";
import { describe, expect, it } from "vitest";
import { ToolCallStatus } from "./gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import {
  type TaskEvent,
  TaskEventSchema,
} from "./gen/devtool/v1alpha/task_event_pb.ts";
import {
  type MessageSchema,
  Role,
  type Task,
  TaskState,
  ToolCallDetailSchema,
} from "./gen/devtool/v1alpha/task_pb.ts";
import { LazyFold } from "./lazy-fold.ts";
import { emptyTask, reduceTask } from "./reduce-task.ts";
import { findConfirmation, openToolCalls } from "./tool-call.ts";

describe("a task that is folded when it is read", () => {
  it("is the task that a client folds event by event, whenever it is read", () => {
    const events = [
      event(1n, { case: "created", value: {} }),
      event(2n, { case: "text", value: { text: "one " } }, "model-1"),
      event(3n, { case: "text", value: { text: "two " } }),
      event(4n, { case: "text", value: { text: "three" } }),
      event(5n, { case: "message", value: { messageId: "message-1" } }),
      event(6n, { case: "text", value: { text: "four " } }),
      event(7n, { case: "text", value: { text: "five" } }),
    ];
    const expected = events.reduce(reduceTask, emptyTask());
    expect(expected.history.map(({ messageId }) => messageId)).toEqual([
      "task-1:2",
      "message-1",
      "task-1:6",
    ]);
    for (const readAt of [0n, 2n, 3n, 6n]) {
      const fold = new LazyFold(emptyTask());
      for (const event of events) {
        fold.add(event);
        if (event.sequence === readAt) expect(fold.task.sequence).toBe(readAt);
      }
      expect(fold.task).toEqual(expected);
    }
  });
});

describe("a task whose content is dropped", () => {
  const { PENDING, EXECUTING, SUCCEEDED, FAILED } = ToolCallStatus;
  const WORK = "x".repeat(1000);
  const payloads: Payload[] = [
    { case: "created", value: { message: prompt("one") } },
    { case: "thought", value: { description: WORK } },
    { case: "text", value: { text: WORK } },
    call("a", PENDING),
    call("b", PENDING),
    { case: "message", value: answer("a") },
    call("a", EXECUTING),
    call("question", PENDING),
    { case: "message", value: answer("question") },
    { case: "text", value: { text: WORK } },
    call("a", SUCCEEDED),
    call("b", FAILED),
    { case: "text", value: { text: WORK } },
    { case: "text", value: { text: WORK } },
    { case: "artifact", value: { artifact: { artifactId: "1", parts: [{}] } } },
    { case: "message", value: prompt("two") },
    { case: "message", value: prompt("three") },
    { case: "text", value: { text: WORK } },
    { case: "summary", value: { text: WORK, keptMessages: 1 } },
    { case: "text", value: { text: WORK } },
    { case: "stateChange", value: { text: WORK } },
  ];
  const events = payloads.map((payload, at): TaskEvent => {
    const made = event(BigInt(at) + 1n, payload);
    const isQuestion =
      made.payload.case === "toolCall" &&
      made.payload.value.toolCallId === "question";
    const parentToolCallId = isQuestion ? "a" : "";
    const toolCallDetail = create(ToolCallDetailSchema, { parentToolCallId });
    return { ...made, toolCallDetail };
  });

  it.each(events.map(({ sequence }) => sequence))(
    "goes on as one that has it, when it is dropped after event %d",
    (droppedAfter) => {
      const whole = new LazyFold(emptyTask());
      const fold = new LazyFold(emptyTask());
      for (const next of events) {
        whole.add(next);
        fold.add(next);
        if (next.sequence === droppedAfter) dropAll(fold);
        expect(presentOf(fold.task)).toEqual(presentOf(whole.task));
      }
      dropAll(fold);
      dropAll(whole);
      expect(fold.task).toEqual(whole.task);
      expect(JSON.stringify(fold.task.history).length).toBeLessThan(9 * 1000);
    },
  );

  it("keeps the messages outside of the range", () => {
    const fold = new LazyFold(emptyTask());
    for (const next of events) fold.add(next);
    const { history } = fold.task;
    fold.dropContent(1, 2);
    expect(fold.task.history.toSpliced(1, 1)).toEqual(history.toSpliced(1, 1));
    expect(fold.task.history[1]).not.toEqual(history[1]);
  });

  it("keeps of a call that was allowed for good what later ones are compared with", () => {
    const fold = new LazyFold(emptyTask());
    const chosen = { rule: "team.toml:3", withoutSandbox: true };
    const ended = [
      { ...chosen, selectedOptionId: "proceed_always" },
      { ...chosen, selectedOptionId: "proceed_once" },
    ].map((detail, at): TaskEvent => {
      const made = event(BigInt(at) + 1n, call(`call-${at}`, SUCCEEDED));
      return { ...made, toolCallDetail: create(ToolCallDetailSchema, detail) };
    });
    for (const each of ended) fold.add(each);
    dropAll(fold);
    const parts = fold.task.history.flatMap((message) => message.parts);
    const known = parts.map(({ content, toolCallDetail }) => [
      content.case === "toolCall" && content.value.inputParameters,
      toolCallDetail?.rule,
      toolCallDetail?.withoutSandbox,
    ]);
    expect(known).toEqual([
      [{ content: WORK }, "team.toml:3", true],
      [undefined, "team.toml:3", true],
    ]);
  });

  it("keeps of the metadata of a message which agents called each other", () => {
    const fold = new LazyFold(emptyTask());
    const chain = { [CALL_CHAIN_URI]: { agents: ["one", "two"] } };
    const metadata = { ...chain, other: "x" };
    const payloads: Payload[] = [
      { case: "created", value: { message: { messageId: "first", metadata } } },
      { case: "text", value: { text: "Done." } },
      { case: "message", value: { messageId: "next", role: Role.USER } },
      { case: "text", value: { text: "Done." } },
    ];
    for (const [at, payload] of payloads.entries()) {
      fold.add(event(BigInt(at) + 1n, payload));
    }
    dropAll(fold);
    expect(fold.task.history[0]?.metadata).toEqual(chain);
  });

  /** What a server decides by. */
  function presentOf(task: Task): unknown {
    const { history, artifacts: _artifacts, ...rest } = task;
    const open = openToolCalls(task);
    const prompt = history.findLast(({ parts, role }) =>
      parts.every(
        ({ content }) => role === Role.USER && content.case !== "confirmation",
      ),
    );
    const messages = history.map(({ messageId, role }) => [messageId, role]);
    const answers = open.map(({ toolCallId }) =>
      findConfirmation(task, toolCallId),
    );
    return { ...rest, open, prompt, messages, answers };
  }

  function dropAll(fold: LazyFold): void {
    fold.dropContent(0, fold.task.history.length);
  }

  function prompt(text: string): MessageInitShape<typeof MessageSchema> {
    const content = { case: "text", value: text + WORK } as const;
    return { messageId: text, role: Role.USER, parts: [{ content }] };
  }

  function answer(toolCallId: string): MessageInitShape<typeof MessageSchema> {
    const details = {
      case: "fileDetails",
      value: { newContent: WORK },
    } as const;
    const value = { toolCallId, modifiedDetails: details };
    const content = { case: "confirmation", value } as const;
    return {
      messageId: `for ${toolCallId}`,
      role: Role.USER,
      parts: [{ content }],
    };
  }

  function call(toolCallId: string, status: ToolCallStatus): Payload {
    const inputParameters = { content: WORK };
    const value = { toolCallId, status, inputParameters };
    return { case: "toolCall", value };
  }
});

type Payload = NonNullable<MessageInitShape<typeof TaskEventSchema>["payload"]>;

function event(sequence: bigint, payload: Payload, model = ""): TaskEvent {
  return create(TaskEventSchema, {
    taskId: "task-1",
    sequence,
    state: TaskState.WORKING,
    model,
    payload,
  });
}
