import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decodeStreamFrame,
  encodeStreamFrame,
} from "./a2a-v03/stream-frame.ts";
import { ToolCallStatus } from "./gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import {
  type TaskEvent,
  TaskEventSchema,
} from "./gen/devtool/v1alpha/task_event_pb.ts";
import { Role, type Task, TaskState } from "./gen/devtool/v1alpha/task_pb.ts";
import { emptyTask, reduceTask } from "./reduce-task.ts";
import {
  awaitedToolCalls,
  OPTION_CANCEL,
  OPTION_PROCEED_ONCE,
} from "./tool-call.ts";

type Payload = NonNullable<MessageInitShape<typeof TaskEventSchema>["payload"]>;

const hello: Payload = {
  case: "created",
  value: {
    message: {
      messageId: "m1",
      role: Role.USER,
      parts: [{ content: { case: "text", value: "hello" } }],
    },
    settings: { workspacePath: "/w" },
  },
};

function logOf(...payloads: Payload[]): TaskEvent[] {
  return payloads.map((payload, index) =>
    create(TaskEventSchema, {
      sequence: BigInt(index + 1),
      taskId: "t",
      contextId: "c",
      model: "m",
      time: timestampFromMs(1000 * (index + 1)),
      state: index === 0 ? TaskState.SUBMITTED : TaskState.WORKING,
      payload,
    }),
  );
}

function fold(events: readonly TaskEvent[]): Task {
  return events.reduce(reduceTask, emptyTask());
}

function text(value: string): Payload {
  return { case: "text", value: { text: value } };
}

function thought(subject: string): Payload {
  return { case: "thought", value: { subject } };
}

function call(toolCallId: string, status: ToolCallStatus): Payload {
  return { case: "toolCall", value: { toolCallId, status } };
}

function asks(toolCallId: string): Payload {
  return {
    case: "toolCall",
    value: {
      toolCallId,
      status: ToolCallStatus.PENDING,
      confirmationRequest: {},
    },
  };
}

function made(artifactId: string, value: string, append = false): Payload {
  const parts = [{ content: { case: "text" as const, value } }];
  return {
    case: "artifact",
    value: { artifact: { artifactId, name: value, parts }, append },
  };
}

/** Returns the id, the name and the texts of each artifact of a task. */
function artifactsOf({ artifacts }: Task): string[] {
  return artifacts.map(({ artifactId, name, parts }) =>
    [artifactId, name, ...parts.map(({ content }) => content.value)].join(" "),
  );
}

function answer(toolCallId: string, selectedOptionId: string): Payload {
  const content = {
    case: "confirmation" as const,
    value: { toolCallId, selectedOptionId },
  };
  return {
    case: "message",
    value: { messageId: "m2", role: Role.USER, parts: [{ content }] },
  };
}

function waitsFor(...ids: string[]): Payload {
  const openCalls = ids.map((toolCallId) => ({
    toolCallId,
    status: ToolCallStatus.PENDING,
    confirmationRequest: { options: [] },
  }));
  return { case: "stateChange", value: { openCalls } };
}

function kinds(task: Task): (string | undefined)[][] {
  return task.history.map(({ parts }) =>
    parts.map(({ content }) => content.case),
  );
}

describe("the fold of a log", () => {
  it("creates, replaces and extends artifacts; extending a missing one creates it", () => {
    const log = logOf(
      hello,
      made("a", "one"),
      made("b", "x", true),
      made("a", "two", true),
      made("b", "y"),
    );
    expect(artifactsOf(fold(log.slice(0, 4)))).toEqual([
      "a one one two",
      "b x x",
    ]);
    expect(artifactsOf(fold(log))).toEqual(["a one one two", "b y y"]);
    expect(artifactsOf(fold(log.slice(0, 2)))).toEqual(["a one one"]);
  });

  it("keeps the extension active from the first event that says so (CARD-3)", () => {
    const log = logOf(hello, text("a"), text("b")).map((event, index) => ({
      ...event,
      extensionActive: index === 1,
    }));
    expect(
      log.map((_event, index) => fold(log.slice(0, index + 1)).extensionActive),
    ).toEqual([false, true, true]);
  });

  it("ends with a reply as its last message", () => {
    const reply: Payload = {
      case: "reply",
      value: { messageId: "r", role: Role.AGENT, parts: [] },
    };
    expect(
      fold(logOf(hello, reply)).history.map(({ messageId }) => messageId),
    ).toEqual(["m1", "r"]);
  });

  it("takes the principal, the ids, the model and the times from the events", () => {
    expect(fold(logOf(hello, text("hi")))).toMatchObject({
      id: "t",
      contextId: "c",
      model: "m",
      sequence: 2n,
      state: TaskState.WORKING,
      settings: { workspacePath: "/w" },
      createTime: timestampFromMs(1000),
      updateTime: timestampFromMs(2000),
    });
  });

  it("joins consecutive text only", () => {
    const task = fold(
      logOf(hello, text("a"), text("b"), thought("x"), text("c")),
    );
    expect(kinds(task)).toEqual([["text"], ["text", "thought", "text"]]);
    expect(task.history[1]?.parts[0]?.content.value).toBe("ab");
  });

  it("keeps a call in its place, in its latest version (TOOL-1)", () => {
    const { PENDING, SUCCEEDED } = ToolCallStatus;
    const task = fold(
      logOf(
        hello,
        call("a", PENDING),
        call("b", PENDING),
        call("a", SUCCEEDED),
      ),
    );
    const calls = task.history[1]?.parts.map(({ content }) => content.value);
    expect(calls).toMatchObject([
      { toolCallId: "a", status: SUCCEEDED },
      { toolCallId: "b", status: PENDING },
    ]);
  });

  it("starts a new step of the agent after the calls of the last step have ended", () => {
    const task = fold(
      logOf(hello, text("a"), call("a", ToolCallStatus.FAILED), text("b")),
    );
    expect(kinds(task)).toEqual([["text"], ["text", "toolCall"], ["text"]]);
    expect(task.history.map(({ messageId }) => messageId)).toEqual([
      "m1",
      "t:2",
      "t:4",
    ]);
  });

  it.each([
    { option: OPTION_PROCEED_ONCE, status: ToolCallStatus.PENDING },
    { option: OPTION_CANCEL, status: ToolCallStatus.CANCELLED },
  ])(
    "clears a question that is answered with $option (TOOL-2)",
    ({ option, status }) => {
      const value = fold(logOf(hello, asks("a"), answer("a", option)))
        .history[1]?.parts[0]?.content.value;
      expect(value).toMatchObject({ toolCallId: "a", status });
      expect(value).not.toHaveProperty("confirmationRequest");
    },
  );

  it("adds unknown calls that a change of state asks about, and duplicates none", () => {
    const { PENDING } = ToolCallStatus;
    const task = fold(logOf(hello, asks("a"), waitsFor("a", "b")));
    expect(kinds(task)).toEqual([["text"], ["toolCall", "toolCall"]]);
    expect(awaitedToolCalls(task)).toMatchObject([
      { toolCallId: "a", status: PENDING },
      { toolCallId: "b", status: PENDING },
    ]);
  });

  it("no longer asks about calls that a change of state does not list, even without their answers (STREAM-2)", () => {
    const task = fold(
      logOf(hello, asks("a"), asks("b"), waitsFor("a", "b"), waitsFor("b")),
    );
    expect(awaitedToolCalls(task).map(({ toolCallId }) => toolCallId)).toEqual([
      "b",
    ]);
  });

  it("takes one message if two with the same id are queued (STREAM-7, STREAM-8)", () => {
    const queued = (value: string): Payload => ({
      case: "messageQueued",
      value: {
        message: {
          messageId: "m2",
          role: Role.USER,
          parts: [{ content: { case: "text", value } }],
        },
      },
    });
    const taken: Payload = { case: "messageTaken", value: { messageId: "m2" } };
    const { history, queuedMessages } = fold(
      logOf(hello, queued("one"), queued("two"), taken),
    );
    expect(history.at(-1)?.parts[0]?.content.value).toBe("one");
    expect(
      queuedMessages.map(({ message }) => message?.parts[0]?.content.value),
    ).toEqual(["two"]);
  });

  it("adds up what was used, and keeps the latest size of the context, which a summary makes unknown", () => {
    const step = (
      contextTokens: bigint,
      contextWindowTokens: bigint,
    ): Payload => ({
      case: "usage",
      value: {
        inputTokens: 10n,
        outputTokens: 2n,
        contextTokens,
        contextWindowTokens,
      },
    });
    const steps = [
      hello,
      step(100n, 1000n),
      step(150n, 0n),
      { case: "usage", value: { inputTokens: 1n } } as const,
    ];
    expect(fold(logOf(...steps)).usage).toMatchObject({
      inputTokens: 21n,
      outputTokens: 4n,
      contextTokens: 150n,
      contextWindowTokens: 1000n,
    });
    const summary: Payload = { case: "summary", value: { text: "notes" } };
    expect(fold(logOf(...steps, summary)).usage).toMatchObject({
      contextTokens: 0n,
      contextWindowTokens: 1000n,
    });
  });

  it("clears the text of a state with the next event", () => {
    const change: Payload = {
      case: "stateChange",
      value: { text: "why", error: "bad" },
    };
    expect(fold(logOf(hello, change))).toMatchObject({
      stateText: "why",
      error: "bad",
    });
    expect(fold(logOf(hello, change, text("go on")))).toMatchObject({
      stateText: "",
      error: "",
    });
  });

  it("keeps the text of a resting state while events leave the task in it", () => {
    const change: Payload = {
      case: "stateChange",
      value: { text: "why", error: "bad" },
    };
    const log = logOf(hello, change, {
      case: "usage",
      value: { inputTokens: 1n },
    });
    const failed = log.map((event, index) =>
      index === 0 ? event : { ...event, state: TaskState.FAILED },
    );
    expect(fold(failed)).toMatchObject({ stateText: "why", error: "bad" });
  });
});

const payload: fc.Arbitrary<Payload> = fc.oneof(
  fc.string({ minLength: 1, maxLength: 5 }).map(text),
  fc.string({ minLength: 1, maxLength: 5 }).map(thought),
  fc.constantFrom("a", "b").map(asks),
  fc
    .tuple(
      fc.constantFrom("a", "b"),
      fc.constantFrom(
        ToolCallStatus.EXECUTING,
        ToolCallStatus.SUCCEEDED,
        ToolCallStatus.FAILED,
      ),
    )
    .map(([id, status]) => call(id, status)),
  fc
    .tuple(
      fc.constantFrom("a", "b"),
      fc.constantFrom(OPTION_PROCEED_ONCE, OPTION_CANCEL),
    )
    .map(([id, option]) => answer(id, option)),
  fc
    .string({ maxLength: 5 })
    .map((why): Payload => ({ case: "stateChange", value: { text: why } })),
);

const log: fc.Arbitrary<TaskEvent[]> = fc
  .array(payload, { maxLength: 12 })
  .map((rest) => logOf(hello, ...rest));

describe("the fold of any log", () => {
  it("ignores an event that comes again", () => {
    fc.assert(
      fc.property(log, (events) => {
        expect(fold([...events, ...events])).toEqual(fold(events));
      }),
    );
  });

  it("returns the new task if an event creates one, whatever its sequence (STREAM-5)", () => {
    const before = fold(logOf(hello, text("Hi.")));
    const [opening] = logOf(hello);
    if (!opening) throw new Error("a log has a beginning");
    const other = { ...opening, taskId: "t2" };
    expect(reduceTask(before, other)).toEqual(reduceTask(emptyTask(), other));
    expect(reduceTask(before, opening)).toBe(before);
  });

  it("does not change the given task", () => {
    fc.assert(
      fc.property(log, (events) => {
        const before = fold(events.slice(0, -1));
        const copy = structuredClone(before);
        events.slice(-1).reduce(reduceTask, before);
        expect(structuredClone(before)).toEqual(copy);
      }),
    );
  });

  it("is the same from the frames of A2A 0.3, except for answers, which have none", () => {
    fc.assert(
      fc.property(log, (events) => {
        const framed = events.filter(
          (event) => encodeStreamFrame(event, "extension") !== undefined,
        );
        const seen = framed.map((event) =>
          decodeStreamFrame(
            JSON.parse(encodeStreamFrame(event, "extension") ?? "null"),
            event.sequence,
          ),
        );
        // The frame of a new task does not have the model; the next frame does.
        expect({ ...fold(seen), model: "" }).toEqual({
          ...fold(framed),
          model: "",
        });
      }),
    );
  });
});
