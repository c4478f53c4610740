import { create, fromJson, type MessageInitShape, toJson } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { EXTENSION_URI } from "../extension.ts";
import { TaskSchema as A2aTaskSchema } from "../gen/devtool/a2a/v1alpha/envelope_pb.ts";
import { ToolCallStatus } from "../gen/devtool/a2a/v1alpha/tool_call_pb.ts";
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
const call: Content = { case: "toolCall", value: { toolCallId: "c", status: ToolCallStatus.SUCCEEDED } };
const answer: Content = { case: "confirmation", value: { toolCallId: "c", selectedOptionId: "cancel" } };

function said(messageId: string, role: Role, ...contents: Content[]): Message {
  return create(MessageSchema, { messageId, role, parts: contents.map((content) => ({ content })) });
}

function taskOf(fields: Partial<Pick<Task, "state" | "stateText" | "error" | "history">>): Task {
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
    said("u1", Role.USER, text),
    said("t:3", Role.AGENT, thought, text, call),
    said("u2", Role.USER, text, answer),
    said("t:9", Role.AGENT, text),
  ],
});

describe("a task in A2A 0.3", () => {
  it("comes back as it was", () => {
    expect(decodeTask(encodeTask(talk))).toEqual(talk);
  });

  it("is the JSON of the envelope's message", () => {
    const json = encodeTask(talk);
    expect(toJson(A2aTaskSchema, fromJson(A2aTaskSchema, json))).toEqual(json);
  });

  it("has a message for each run of parts of one kind, which its metadata tells (META-1)", () => {
    const { history } = fromJson(A2aTaskSchema, encodeTask(talk));
    expect(history.map(({ messageId, metadata }) => [messageId, metadata?.[EXTENSION_URI]])).toEqual([
      ["u1", { kind: "TEXT_CONTENT" }],
      ["t:3", { kind: "THOUGHT" }],
      ["t:3#1", { kind: "TEXT_CONTENT" }],
      ["t:3#2", { kind: "TOOL_CALL_UPDATE" }],
      ["u2", { kind: "TEXT_CONTENT" }],
      ["u2#1", { kind: "TOOL_CALL_CONFIRMATION" }],
      ["t:9", { kind: "TEXT_CONTENT" }],
    ]);
  });

  it("keeps the steps of an agent apart when the calls of the first have ended", () => {
    const history = [said("t:2", Role.AGENT, text, call), said("t:5", Role.AGENT, text, call)];
    const task = taskOf({ history });
    expect(decodeTask(encodeTask(task))).toEqual(task);
  });

  it("keeps a client's ids as they are, also such as look like a run's", () => {
    const history = [said("u#1", Role.USER, text), said("u#2", Role.USER, text)];
    expect(decodeTask(encodeTask(taskOf({ history }))).history.map(({ messageId }) => messageId)).toEqual([
      "u#1",
      "u#2",
    ]);
  });

  it("tells why it is in its state, and its error", () => {
    const task = taskOf({ state: TaskState.FAILED, stateText: "gave up", error: "no quota" });
    expect(decodeTask(encodeTask(task))).toMatchObject({ stateText: "gave up", error: "no quota" });
  });

  it.each([
    { historyLength: 0, ids: [] },
    { historyLength: 2, ids: ["u2#1", "t:9"] },
    { historyLength: 99, ids: ["u1", "t:3", "t:3#1", "t:3#2", "u2", "u2#1", "t:9"] },
  ])("keeps the newest $historyLength messages when asked to", ({ historyLength, ids }) => {
    const { history } = fromJson(A2aTaskSchema, encodeTask(talk, { historyLength }));
    expect(history.map(({ messageId }) => messageId)).toEqual(ids);
  });

  it("shows text and states only to a client without the extension (CARD-3)", () => {
    const { history, metadata } = fromJson(A2aTaskSchema, encodeTask(talk, { view: "plain" }));
    expect(metadata).toBeUndefined();
    expect(history.flatMap(({ parts }) => parts.map(({ kind }) => kind))).toEqual(["text", "text", "text", "text"]);
  });

  it("is refused when it is something else", () => {
    expect(() => decodeTask({ kind: "message" })).toThrow('kind "message" is no task');
  });
});
