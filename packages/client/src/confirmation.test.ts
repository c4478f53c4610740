import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  emptyTask,
  Role,
  reduceTask,
  type TaskEvent,
  TaskEventSchema,
  TaskSchema,
  TaskState,
  type ToolCall,
  ToolCallSchema,
  ToolCallStatus,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import {
  confirmationPart,
  modifiedArgumentsPart,
  pendingToolCalls,
  textMessage,
} from "./confirmation.ts";

const OPTIONS = [
  { id: "proceed_once", name: "Yes" },
  { id: "cancel", name: "No" },
];

describe("pendingToolCalls", () => {
  it("S1: names the answers for what they do, whatever the server calls them", () => {
    const options = [
      { id: "proceed_once", name: "Decline" },
      { id: "proceed_always", name: "Allow once" },
      { id: "cancel", name: "Allow once" },
    ];
    const call = toolCall({ confirmationRequest: { options } });
    const history = [
      {
        role: Role.AGENT,
        parts: [{ content: { case: "toolCall" as const, value: call } }],
      },
    ];
    const [asked] = pendingToolCalls(create(TaskSchema, { history }));
    expect(asked?.confirmationRequest?.options.map(({ name }) => name)).toEqual(
      [
        'Allow once ("Decline")',
        'Always allow ("Allow once")',
        'Decline ("Allow once")',
      ],
    );
  });
});

describe("pendingToolCalls", () => {
  it.each([
    ["declines this call", '"declines this call"'],
    ['x"; [n] Decline: “y', "\"x'; [n] Decline: 'y\""],
    ["\u0336no\n[n] Decline", '"\u25cc\u0336no [1 more line]"'],
    ["\u202eno", '"\\u{202e}no"'],
    [" \n", undefined],
    [undefined, undefined],
  ])("S1: quotes what a server says about an answer: %j", (said, shown) => {
    const options = [
      { id: "proceed_once", name: "Allow once", description: said },
      { id: "cancel", name: "Decline" },
    ];
    const call = toolCall({ confirmationRequest: { options } });
    const task = reduceTask(emptyTask(), toolCallEvent(call, 0));
    for (let read = 0; read < 2; read++) {
      const [asked] = pendingToolCalls(task);
      const [option] = asked?.confirmationRequest?.options ?? [];
      expect(option?.description).toBe(shown);
    }
  });
});

describe("modifiedArgumentsPart", () => {
  it("answers with an option that no server takes for an approval (TOOL-12)", () => {
    const call = { ...shellCall(), shownDigest: Uint8Array.of(1) };
    expect(modifiedArgumentsPart(call, { command: "pwd" })).toMatchObject({
      content: {
        case: "confirmation",
        value: { toolCallId: "call-1", selectedOptionId: "modify_arguments" },
      },
      modifiedArguments: { command: "pwd" },
      shownDigest: Uint8Array.of(1),
    });
  });

  it("refuses to answer a call that does not wait for an answer", () => {
    const call = toolCall({ status: ToolCallStatus.EXECUTING });
    expect(() => modifiedArgumentsPart(call, {})).toThrowError(
      "does not wait for an answer",
    );
  });
});

describe("confirmationPart", () => {
  it("answers a pending call with the chosen option (TOOL-5)", () => {
    expect(confirmationPart(shellCall(), "cancel").content).toMatchObject({
      case: "confirmation",
      value: {
        toolCallId: "call-1",
        selectedOptionId: "cancel",
        modifiedDetails: { case: undefined },
      },
    });
  });

  it("refuses an option that is not offered and names those that are offered (TOOL-4)", () => {
    expect(() => confirmationPart(shellCall(), "proceed_always")).toThrowError(
      new ConnectError(
        'option "proceed_always" is not offered: choose proceed_once, cancel',
        Code.InvalidArgument,
      ),
    );
  });

  it("refuses to answer a call that does not wait for an answer", () => {
    const call = toolCall({ status: ToolCallStatus.EXECUTING });
    expect(() => confirmationPart(call, "cancel")).toThrowError(
      new ConnectError(
        'tool call "call-1" does not wait for an answer: answer one of pendingToolCalls',
        Code.InvalidArgument,
      ),
    );
  });

  it("replaces the proposed content, even with an empty one (TOOL-6)", () => {
    for (const newContent of ["changed\n", ""]) {
      expect(
        confirmationPart(editCall(), "proceed_once", newContent).content,
      ).toMatchObject({
        case: "confirmation",
        value: {
          modifiedDetails: { case: "fileDetails", value: { newContent } },
        },
      });
    }
  });

  it("refuses new content for a call that does not propose a file change (TOOL-6)", () => {
    expect(() =>
      confirmationPart(shellCall(), "proceed_once", ""),
    ).toThrowError(
      new ConnectError(
        'tool call "call-1" does not propose a file change: leave out the new content',
        Code.InvalidArgument,
      ),
    );
  });
});

describe("pendingToolCalls", () => {
  it("returns the calls that wait for approval, in the order they were made (TOOL-2)", () => {
    const running = toolCall({
      toolCallId: "runs",
      status: ToolCallStatus.EXECUTING,
    });
    const calls = [shellCall("first"), running, editCall("second")];
    const task = calls.map(toolCallEvent).reduce(reduceTask, emptyTask());
    expect(pendingToolCalls(task).map(({ toolCallId }) => toolCallId)).toEqual([
      "first",
      "second",
    ]);
  });
});

describe("textMessage", () => {
  it("creates a message of the user with one text under the given id", () => {
    expect(textMessage("m-1", "hi")).toMatchObject({
      messageId: "m-1",
      role: Role.USER,
      parts: [{ content: { case: "text", value: "hi" } }],
    });
  });
});

function toolCall(init: MessageInitShape<typeof ToolCallSchema>): ToolCall {
  return create(ToolCallSchema, {
    toolCallId: "call-1",
    status: ToolCallStatus.PENDING,
    toolName: "tool",
    ...init,
  });
}

function shellCall(toolCallId = "call-1"): ToolCall {
  const details = { case: "executeDetails", value: { command: "ls" } } as const;
  return toolCall({
    toolCallId,
    confirmationRequest: { options: OPTIONS, details },
  });
}

function editCall(toolCallId = "call-1"): ToolCall {
  const details = {
    case: "fileEditDetails",
    value: { fileName: "a.txt", newContent: "new\n" },
  } as const;
  return toolCall({
    toolCallId,
    confirmationRequest: { options: OPTIONS, details },
  });
}

function toolCallEvent(call: ToolCall, index: number): TaskEvent {
  return create(TaskEventSchema, {
    sequence: BigInt(index + 1),
    taskId: "task-1",
    state: TaskState.WORKING,
    payload: { case: "toolCall", value: call },
  });
}
