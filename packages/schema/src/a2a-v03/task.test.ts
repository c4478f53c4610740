import {
  create,
  fromJson,
  type MessageInitShape,
  toJson,
} from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import {
  EXTENSION_URI,
  MODIFIED_ARGUMENTS_URI,
  SEQUENCE_URI,
  TASK_EVENT_URI,
} from "../extension.ts";
import { TaskSchema as A2aTaskSchema } from "../gen/devtool/a2a/v1alpha/envelope_pb.ts";
import {
  ToolCallSchema,
  ToolCallStatus,
} from "../gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import {
  type Message,
  MessageSchema,
  type PartSchema,
  Role,
  type Task,
  TaskSchema,
  TaskState,
} from "../gen/devtool/v1alpha/task_pb.ts";
import { decodeTask, encodeTask } from "./task.ts";

type Content = NonNullable<MessageInitShape<typeof PartSchema>["content"]>;

const text: Content = { case: "text", value: "hi" };
const thought: Content = { case: "thought", value: { subject: "plan" } };
const call: Content = {
  case: "toolCall",
  value: { toolCallId: "c", status: ToolCallStatus.SUCCEEDED },
};
const answer: Content = {
  case: "confirmation",
  value: { toolCallId: "c", selectedOptionId: "cancel" },
};

function messageOf(
  messageId: string,
  role: Role,
  ...contents: Content[]
): Message {
  return create(MessageSchema, {
    messageId,
    role,
    parts: contents.map((content) => ({ content })),
  });
}

const asking = {
  confirmationRequest: { options: [{ id: "proceed_once", name: "Yes" }] },
};

function asCall(
  toolCallId: string,
  fields: MessageInitShape<typeof ToolCallSchema>,
): Content {
  const value = create(ToolCallSchema, {
    toolCallId,
    toolName: toolCallId,
    status: ToolCallStatus.PENDING,
    ...fields,
  });
  return { case: "toolCall", value };
}

function taskOf(
  fields: Partial<Pick<Task, "state" | "stateText" | "error" | "history">>,
): Task {
  return create(TaskSchema, {
    id: "t",
    contextId: "c",
    state: TaskState.COMPLETED,
    model: "m",
    settings: { workspacePath: "/w" },
    updateTime: timestampFromMs(1_700_000_000_123),
    ...fields,
  });
}

const talk: Task = taskOf({
  history: [
    messageOf("u1", Role.USER, text),
    messageOf("t:3", Role.AGENT, thought, text, call),
    messageOf("u2", Role.USER, text, answer),
    messageOf("t:9", Role.AGENT, text),
  ],
});

describe("a task in A2A 0.3", () => {
  it("keeps the arguments that a user wrote beside an answer (TOOL-12)", () => {
    const args = { command: "ls", deep: { list: [1, null] } };
    const parts = [{ content: answer, modifiedArguments: args }];
    const task = taskOf({
      history: [
        create(MessageSchema, { messageId: "u1", role: Role.USER, parts }),
      ],
    });
    const json = encodeTask(task);
    expect(json).toMatchObject({
      history: [{ parts: [{ metadata: { [MODIFIED_ARGUMENTS_URI]: args } }] }],
    });
    const [message] = decodeTask(json).history;
    expect(message?.parts).toMatchObject([
      { content: { case: "confirmation" }, modifiedArguments: args },
    ]);
    expect(message?.parts[0]?.metadata).toBeUndefined();
  });

  it("is decoded as it was encoded", () => {
    expect(decodeTask(encodeTask(talk))).toEqual(talk);
  });

  it("says the sequence of its last event, which another agent's metadata does not (STREAM-3)", () => {
    const task = { ...talk, sequence: 9_007_199_254_740_993n };
    const json = encodeTask(task);
    expect(json.metadata).toMatchObject({ [SEQUENCE_URI]: "9007199254740993" });
    expect(decodeTask(json)).toEqual(task);
    expect(encodeTask(task, { view: "plain" })).not.toHaveProperty("metadata");
    for (const foreign of [
      7,
      "-1",
      "a few",
      "9".repeat(19),
      "9".repeat(100),
      null,
    ]) {
      expect(
        decodeTask({ ...json, metadata: { [SEQUENCE_URI]: foreign } }).sequence,
      ).toBe(0n);
    }
  });

  it("is the JSON of the message Task", () => {
    const json = encodeTask(talk);
    expect(toJson(A2aTaskSchema, fromJson(A2aTaskSchema, json))).toEqual(json);
  });

  it("has a message for each run of the agent's parts of one kind, stated in its metadata (META-1)", () => {
    const { history } = fromJson(A2aTaskSchema, encodeTask(talk));
    expect(
      history.map(({ messageId, metadata }) => [
        messageId,
        metadata?.[EXTENSION_URI],
      ]),
    ).toEqual([
      ["u1", undefined],
      ["t:3", { kind: "THOUGHT", model: "m" }],
      ["t:3#1", { kind: "TEXT_CONTENT", model: "m" }],
      ["t:3#2", { kind: "TOOL_CALL_UPDATE", model: "m" }],
      ["u2", { kind: "TOOL_CALL_CONFIRMATION", model: "" }],
      ["t:9", { kind: "TEXT_CONTENT", model: "m" }],
    ]);
  });

  it("keeps steps of an agent separate if the calls of the first have ended", () => {
    const history = [
      messageOf("t:2", Role.AGENT, text, call),
      messageOf("t:5", Role.AGENT, text, call),
    ];
    const task = taskOf({ history });
    expect(decodeTask(encodeTask(task))).toEqual(task);
  });

  it("keeps a client's ids unchanged, even if they look like the id of a run", () => {
    const history = [
      messageOf("u#1", Role.USER, text),
      messageOf("u#2", Role.USER, text),
    ];
    expect(
      decodeTask(encodeTask(taskOf({ history }))).history.map(
        ({ messageId }) => messageId,
      ),
    ).toEqual(["u#1", "u#2"]);
  });

  it("has the text of its state, and its error", () => {
    const task = taskOf({
      state: TaskState.FAILED,
      stateText: "gave up",
      error: "no quota",
    });
    expect(decodeTask(encodeTask(task))).toMatchObject({
      stateText: "gave up",
      error: "no quota",
    });
  });

  it.each([
    { historyLength: 0, ids: [] },
    { historyLength: 2, ids: ["u2", "t:9"] },
    { historyLength: 99, ids: ["u1", "t:3", "t:3#1", "t:3#2", "u2", "t:9"] },
  ])(
    "keeps the newest $historyLength messages if requested",
    ({ historyLength, ids }) => {
      const { history } = fromJson(
        A2aTaskSchema,
        encodeTask(talk, { historyLength }),
      );
      expect(history.map(({ messageId }) => messageId)).toEqual(ids);
    },
  );

  it("shows text and states only to a client without the extension (CARD-3)", () => {
    const { history, metadata } = fromJson(
      A2aTaskSchema,
      encodeTask(talk, { view: "plain" }),
    );
    expect(metadata).toBeUndefined();
    expect(
      history.flatMap(({ parts }) => parts.map(({ kind }) => kind)),
    ).toEqual(["text", "text", "text", "text"]);
  });

  it("returns the user's metadata and extensions as they were sent (META-1)", () => {
    const metadata = {
      [EXTENSION_URI]: { workspace_path: "/w" },
      "https://example.com/x": [1, { y: null }],
    };
    const sent = {
      ...messageOf("u1", Role.USER, text),
      metadata,
      extensions: [EXTENSION_URI],
    };
    const task = taskOf({ history: [sent] });
    const { history } = fromJson(A2aTaskSchema, encodeTask(task));
    expect(history).toMatchObject([{ metadata, extensions: [EXTENSION_URI] }]);
    const plain = fromJson(A2aTaskSchema, encodeTask(task, { view: "plain" }));
    expect(plain.history[0]?.metadata).toEqual({
      "https://example.com/x": [1, { y: null }],
    });
    expect(decodeTask(encodeTask(task))).toEqual(task);
  });

  it("has only the settings under the extension's URI, and reads what earlier servers put next to them (META-1)", () => {
    const task = taskOf({
      state: TaskState.FAILED,
      stateText: "gave up",
      error: "no quota",
    });
    const { metadata } = fromJson(A2aTaskSchema, encodeTask(task));
    expect(metadata).toEqual({
      [EXTENSION_URI]: { workspace_path: "/w" },
      [TASK_EVENT_URI]: { model: "m", stateChange: { error: "no quota" } },
    });
    const older = {
      workspace_path: "/w",
      kind: "STATE_CHANGE",
      model: "m",
      error: "no quota",
    };
    const json = { ...encodeTask(task), metadata: { [EXTENSION_URI]: older } };
    expect(decodeTask(json)).toEqual(task);
  });

  it("is rejected if it is something else", () => {
    expect(() => decodeTask({ kind: "message" })).toThrow(
      'kind "message" is not a task',
    );
  });
});

describe("a task in A2A 0.3 that waits for an answer (STREAM-2)", () => {
  const done = asCall("done", { status: ToolCallStatus.SUCCEEDED });
  const first = asCall("first", asking);
  const second = asCall("second", asking);
  const waiting = taskOf({
    state: TaskState.INPUT_REQUIRED,
    history: [
      messageOf("u1", Role.USER, text),
      messageOf("t:3", Role.AGENT, thought, done, first, second),
    ],
  });

  it("asks in the message of its status, with whole calls as data parts, and not in its history", () => {
    const { status, history } = fromJson(A2aTaskSchema, encodeTask(waiting));
    expect(status?.message).toMatchObject({
      role: "agent",
      parts: [{ kind: "data" }, { kind: "data" }],
    });
    expect(
      status?.message?.parts.map(({ data }) => data?.tool_call_id),
    ).toEqual(["first", "second"]);
    expect(JSON.stringify(history)).not.toContain('"first"');
  });

  it("shows clients without the extension why it failed, and which messages were not taken (STREAM-8)", () => {
    const failed = taskOf({
      state: TaskState.FAILED,
      error: "no model",
      stateText: 'messages that were not taken: "m2"',
    });
    const { status } = fromJson(
      A2aTaskSchema,
      encodeTask(failed, { view: "plain" }),
    );
    expect(status?.message?.parts[0]?.text).toBe(
      'no model\n\nmessages that were not taken: "m2"',
    );
  });

  it("asks clients without the extension in words (CARD-3)", () => {
    const { status } = fromJson(
      A2aTaskSchema,
      encodeTask(waiting, { view: "plain" }),
    );
    expect(status?.message?.parts).toMatchObject([
      { text: expect.stringContaining("May I call first?") },
    ]);
    expect(status?.message?.parts[0]?.text).toContain(
      "Answer yes or no, or with one of: proceed_once (Yes)",
    );
  });

  it.each([
    { step: "of a step with more", history: waiting.history },
    {
      step: "of a step that holds nothing else",
      history: [messageOf("t:3", Role.AGENT, first)],
    },
    {
      step: "of a step before the last answer",
      history: [
        messageOf("t:3", Role.AGENT, done, first),
        messageOf("u2", Role.USER, answer),
      ],
    },
    {
      step: "of a call that runs",
      history: [
        messageOf(
          "t:3",
          Role.AGENT,
          asCall("parent", { status: ToolCallStatus.EXECUTING }),
        ),
        messageOf("u2", Role.USER, answer),
        messageOf("t:7", Role.AGENT, first),
      ],
    },
  ])("is decoded as it was encoded, with calls $step", ({ history }) => {
    const task = taskOf({
      state: TaskState.INPUT_REQUIRED,
      stateText: "why",
      history,
    });
    expect(decodeTask(encodeTask(task))).toEqual(task);
  });

  it("keeps a call in its place if an agent has it in both places", () => {
    const json = encodeTask(waiting);
    const twice = {
      ...json,
      history:
        encodeTask({ ...waiting, state: TaskState.WORKING }).history ?? [],
    };
    expect(decodeTask(twice)).toEqual(waiting);
  });
});
