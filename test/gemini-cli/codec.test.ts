import { create, type JsonValue } from "@bufbuild/protobuf";
import {
  ApprovalMode,
  emptyTask,
  reduceTask,
  SendMessageRequestSchema,
  type Task,
  type TaskEvent,
  TaskEventSchema,
  TaskState,
  type ToolCall,
  ToolCallStatus,
  toolCallsOf,
  WireError,
} from "@devtool/schema";
import { decodeMessageSend } from "@devtool/schema/a2a-v03";
import {
  decodeGeminiCliFrame,
  encodeGeminiCliFrame,
  encodeGeminiCliSend,
  rfcSendParams,
} from "@devtool/schema/gemini-cli";
import { describe, expect, it } from "vitest";
import { historyNames, readHistory } from "../durability/histories/history.ts";
import { readGolden } from "./golden.ts";

/** Reads a frame as a client does: after the frames before it. */
function foldFrame(known: Task, result: JsonValue): Task {
  return decodeGeminiCliFrame(result, known).reduce(reduceTask, known);
}

/**
 * Returns what a client knows after an event: its own message, and all frames
 * until then.
 */
function afterEvent(known: Task, event: TaskEvent): Task {
  if (OWN_WORDS.has(event.payload.case)) {
    return reduceTask(known, { ...event, sequence: known.sequence + 1n });
  }
  const frame = encodeGeminiCliFrame(event);
  return frame === undefined ? known : foldFrame(known, JSON.parse(frame));
}

const OWN_WORDS: ReadonlySet<TaskEvent["payload"]["case"]> = new Set([
  "message",
  "messageQueued",
  "messageTaken",
  "messageWithdrawn",
  "renamed",
]);

function callsOf({ history }: Task): object[] {
  return history.flatMap(toolCallsOf).map(gistOf);
}

function gistOf({
  toolCallId,
  toolName,
  status,
  inputParameters = {},
  confirmationRequest: asked,
}: ToolCall): object {
  const question = asked && {
    about: asked.details.case,
    options: asked.options.map(({ id }) => id),
  };
  return { toolCallId, toolName, status, inputParameters, question };
}

function textOf({ history }: Task): string {
  const contents = history.flatMap(({ parts }) =>
    parts.map(({ content }) => content),
  );
  return contents
    .map((content) => (content.case === "text" ? content.value : ""))
    .join("");
}

describe("frames of the coderAgent dialect", () => {
  it.each(historyNames())(
    'contain the whole text and all calls of the conversation "%s"',
    async (name) => {
      const { events } = await readHistory(name, "/workspace");
      const task = events.reduce(reduceTask, emptyTask());
      const known = events.reduce(afterEvent, emptyTask());
      expect(callsOf(known)).toEqual(callsOf(task));
      expect(textOf(known)).toBe(textOf(task));
      // There, a turn that ends is `input-required`, and one that ends with
      // text looks like one that asks.
      const endsInWords =
        task.state === TaskState.COMPLETED &&
        (task.stateText !== "" || task.replyOnly);
      expect(known.state).toBe(
        endsInWords ? TaskState.INPUT_REQUIRED : task.state,
      );
    },
  );

  it("of Gemini CLI's own server are decoded: the approval, its result, and the end of the turn", () => {
    const [asked = [], answered = []] = readGolden("shell").map((turn) =>
      turn.map(({ result = null }) => result),
    );
    const waiting = asked.reduce<Task>(foldFrame, emptyTask());
    expect(callsOf(waiting)).toMatchObject([
      {
        toolName: "run_shell_command",
        status: ToolCallStatus.PENDING,
        question: {
          about: "executeDetails",
          options: ["proceed_once", "proceed_always", "cancel"],
        },
      },
    ]);
    expect(waiting.state).toBe(TaskState.INPUT_REQUIRED);
    const done = answered.reduce<Task>(foldFrame, waiting);
    expect(done.history.flatMap(toolCallsOf)).toMatchObject([
      {
        status: ToolCallStatus.SUCCEEDED,
        result: {
          case: "output",
          value: { result: { case: "text", value: "line 1\nline 2\nline 3" } },
        },
      },
    ]);
    expect(done.state).toBe(TaskState.COMPLETED);
  });

  it("of a call to an MCP server are decoded with the outcomes that belong to it", () => {
    const confirmationDetails = {
      type: "mcp",
      title: "",
      serverName: "github",
      toolName: "search",
      toolDisplayName: "",
    };
    const known = foldFrame(
      emptyTask(),
      callFrame({ status: "awaiting_approval", confirmationDetails }),
    );
    expect(callsOf(known)).toMatchObject([
      {
        question: {
          about: "mcpDetails",
          options: [
            "proceed_once",
            "proceed_always_tool",
            "proceed_always_server",
            "cancel",
          ],
        },
      },
    ]);
  });

  it("with unknown fields, or values of other types in unused fields, are decoded", () => {
    const response = {
      callId: "call",
      responseParts: { text: "fine" },
      resultDisplay: undefined,
      contentLength: 4,
      more: [],
    };
    const known = foldFrame(
      emptyTask(),
      callFrame({
        status: "success",
        response,
        liveOutput: [[{ text: "x" }]],
        outcome: "y",
      }),
    );
    expect(known.history.flatMap(toolCallsOf)).toMatchObject([
      {
        result: {
          case: "output",
          value: { result: { case: "text", value: "fine" } },
        },
      },
    ]);
  });

  it.each([
    ["nothing", null],
    ["a list", []],
    ["an unknown kind", { kind: "message" }],
    ["an update without a status", { kind: "status-update" }],
    ["a call without an id", callFrame({ request: {} })],
  ])("that are %s are refused", (_what, frame: JsonValue) => {
    expect(() => decodeGeminiCliFrame(frame, emptyTask())).toThrow(WireError);
  });

  it("name a source by its URL, and cancel the open calls of a canceled task", () => {
    const cited = create(TaskEventSchema, {
      sequence: 1n,
      payload: {
        case: "citation",
        value: { uri: "https://example.com/a", title: "A" },
      },
    });
    const [event] = decodeGeminiCliFrame(
      JSON.parse(encodeGeminiCliFrame(cited) ?? ""),
      emptyTask(),
    );
    expect(event?.payload).toMatchObject({
      case: "citation",
      value: { uri: "https://example.com/a" },
    });
    const running = foldFrame(emptyTask(), callFrame({ status: "executing" }));
    const canceled = {
      kind: "status-update",
      status: { state: "canceled" },
      final: true,
    };
    expect(
      foldFrame(running, canceled).history.flatMap(toolCallsOf),
    ).toMatchObject([{ status: ToolCallStatus.CANCELLED }]);
  });
});

describe("a message in the coderAgent dialect", () => {
  it("is translated into our own messages", () => {
    const content = {
      case: "confirmation",
      value: {
        toolCallId: "call",
        selectedOptionId: "proceed_once",
        modifiedDetails: { case: "fileDetails", value: { newContent: "" } },
      },
    } as const;
    const request = create(SendMessageRequestSchema, {
      message: {
        messageId: "m",
        parts: [{ content: { case: "text", value: "Yes." } }, { content }],
      },
      taskId: "task",
      contextId: "context",
      settings: { workspacePath: "/workspace" },
      sessionSettings: { approvalMode: ApprovalMode.DEFAULT },
    });
    const { request: read } = decodeMessageSend(
      rfcSendParams(encodeGeminiCliSend(request)),
    );
    expect(read).toMatchObject({
      taskId: "task",
      contextId: "context",
      settings: { workspacePath: "/workspace" },
      sessionSettings: { approvalMode: ApprovalMode.DEFAULT },
      message: { parts: [{ content: { value: "Yes." } }, { content }] },
    });
  });

  it("keeps data that is not an answer", () => {
    const params = {
      message: {
        kind: "message",
        messageId: "m",
        role: "user",
        parts: [{ kind: "data", data: { callId: 7 } }],
      },
    };
    expect(
      decodeMessageSend(rfcSendParams(params)).request.message?.parts,
    ).toMatchObject([{ content: { case: "data", value: { callId: 7 } } }]);
  });
});

function callFrame(more: object): JsonValue {
  const data = {
    request: { callId: "call", name: "tool", args: {} },
    status: "executing",
    tool: { name: "tool" },
    ...more,
  };
  const message = {
    kind: "message",
    role: "agent",
    messageId: "m",
    parts: [{ kind: "data", data }],
  };
  const status = { state: "working", message };
  return JSON.parse(
    JSON.stringify({
      kind: "status-update",
      status,
      metadata: { coderAgent: { kind: "tool-call-update" } },
    }),
  );
}
