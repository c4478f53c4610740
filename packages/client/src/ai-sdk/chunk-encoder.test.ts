import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  emptyTask,
  reduceTask,
  type TaskEvent,
  TaskEventSchema,
  TaskState,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { answersIn } from "./chat-message.ts";
import { ChunkEncoder } from "./chunk-encoder.ts";
import { approvalIdOf, type Chunk } from "./ui-message.ts";

type Payload = MessageInitShape<typeof TaskEventSchema>["payload"];

function eventOf(
  sequence: number,
  payload: Payload,
  state = TaskState.WORKING,
): TaskEvent {
  return create(TaskEventSchema, {
    sequence: BigInt(sequence),
    taskId: "t",
    state,
    ...(payload && { payload }),
  });
}

function encode(...payloads: readonly Payload[]): Chunk[] {
  const encoder = new ChunkEncoder();
  let task = emptyTask();
  return [{ case: "created", value: {} } as const, ...payloads].flatMap(
    (payload, index) => {
      const event = eventOf(index + 1, payload);
      task = reduceTask(task, event);
      return encoder.encode(event, task);
    },
  );
}

describe("ChunkEncoder", () => {
  it("encodes the tokens of a task as metadata, in total", () => {
    const usage = {
      case: "usage",
      value: { inputTokens: 3n, outputTokens: 2n },
    } as const;
    expect(encode(usage, usage).at(-1)).toEqual({
      type: "message-metadata",
      messageMetadata: {
        taskId: "t",
        usage: { inputTokens: 6, outputTokens: 4 },
      },
    });
  });

  it("encodes an artifact as one data part that grows", () => {
    const piece = (text: string, append: boolean): Payload => ({
      case: "artifact",
      value: {
        artifact: {
          artifactId: "a",
          parts: [{ content: { case: "text", value: text } }],
        },
        append,
      },
    });
    const chunks = encode(piece("one", false), piece("two", true));
    expect(chunks).toMatchObject([
      { type: "data-artifact", id: "a", data: { parts: [{ text: "one" }] } },
      {
        type: "data-artifact",
        id: "a",
        data: { parts: [{ text: "one" }, { text: "two" }] },
      },
    ]);
  });

  it("encodes the parts of a reply, and ends", () => {
    const encoder = new ChunkEncoder();
    const file = {
      case: "file",
      value: {
        mediaType: "text/plain",
        source: { case: "bytes", value: new Uint8Array([104, 105]) },
      },
    } as const;
    const reply: Payload = {
      case: "reply",
      value: {
        parts: [
          { content: { case: "text", value: "See:" } },
          { content: file },
        ],
      },
    };
    expect(
      encoder.encode(eventOf(2, reply, TaskState.COMPLETED), emptyTask()),
    ).toEqual([
      { type: "text-start", id: "text-2" },
      { type: "text-delta", id: "text-2", delta: "See:" },
      { type: "text-end", id: "text-2" },
      {
        type: "file",
        mediaType: "text/plain",
        url: "data:text/plain;base64,aGk=",
      },
      { type: "finish", finishReason: "stop" },
    ]);
  });

  it("encodes a summary and a source without an address as data", () => {
    expect(
      encode(
        { case: "summary", value: { text: "So far." } },
        { case: "citation", value: { title: "Book" } },
      ),
    ).toEqual([
      { type: "data-summary", data: { text: "So far." } },
      { type: "data-citation", data: { title: "Book" } },
    ]);
  });
});

describe("answersIn", () => {
  const call = {
    toolCallId: "c",
    status: 1,
    toolName: "choose",
    confirmationRequest: {
      options: [
        { id: "red", name: "Red" },
        { id: "cancel", name: "Cancel" },
      ],
    },
  };
  const task = reduceTask(
    reduceTask(emptyTask(), eventOf(1, { case: "created", value: {} })),
    eventOf(2, { case: "toolCall", value: call }),
  );
  const answer = (id: string, approved: boolean) => {
    const part = {
      type: "dynamic-tool",
      toolCallId: "c",
      toolName: "choose",
      input: {},
      state: "approval-responded",
    } as const;
    return answersIn(
      {
        id: "m",
        role: "assistant",
        parts: [{ ...part, approval: { id, approved } }],
      },
      task,
    );
  };

  it("refuses an approval of a call that does not offer to be allowed once", () => {
    expect(() => answer("c:", true)).toThrow(
      'option "proceed_once" is not offered: choose red, cancel',
    );
    expect(answer("c:", false)).toMatchObject([
      { content: { value: { selectedOptionId: "cancel" } } },
    ]);
  });

  it("refuses an answer to another question of the call", () => {
    expect(() => answer("c:00", true)).toThrow(
      'tool call "c" asks about something else by now',
    );
  });

  it("names a question by what was shown", () => {
    const asked = {
      ...create(TaskEventSchema, { payload: { case: "toolCall", value: call } })
        .payload,
    };
    if (asked.case !== "toolCall" || !asked.value) {
      throw new Error("the event has no call");
    }
    expect(
      approvalIdOf({ ...asked.value, shownDigest: new Uint8Array([1, 171]) }),
    ).toBe("c:01ab");
  });
});
