import { create } from "@bufbuild/protobuf";
import {
  ConfirmationRequestSchema,
  MessageSchema,
  type Part,
  PartSchema,
  Role,
  type Task,
  TaskSchema,
  TaskState,
  ToolCallDetailSchema,
  ToolCallSchema,
  ToolCallStatus,
} from "@devtool/schema";
import { Code, DevtoolError } from "@devtool/server/agent";
import { expect, it } from "vitest";
import type { PortTasks } from "./port.ts";
import { openQuestions } from "./question.ts";
import { sendAnswers } from "./task-answers.ts";

it("sends the other answers when somebody else has answered one meanwhile", async () => {
  const both = taskAsking("a", "b");
  const approve = { action: "accept", content: { answer: "proceed_once" } };
  const responses = Object.fromEntries(
    openQuestions(both).map(({ key }) => [key, approve]),
  );
  const sent: string[][] = [];
  const taken = new DevtoolError("already answered", Code.FailedPrecondition);
  let now = taskAsking("b");
  const tasks: PortTasks = {
    send: async ({ message }) => {
      sent.push(
        (message?.parts ?? []).map(({ content }) =>
          content?.case === "confirmation"
            ? (content.value.toolCallId ?? "")
            : "",
        ),
      );
      if (sent.length === 1) throw taken;
      return now;
    },
    get: async () => now,
    follow: async function* () {},
    cancel: () => Promise.reject(new Error("not here")),
    list: () => Promise.reject(new Error("not here")),
  };
  const to = { tasks, nextId: () => "m" };
  const { signal } = new AbortController();
  await sendAnswers(to, both, responses, signal);
  expect(sent).toEqual([["a", "b"], ["b"]]);

  // One that is refused for another reason stays refused.
  sent.length = 0;
  now = both;
  await expect(sendAnswers(to, both, responses, signal)).rejects.toBe(taken);
  expect(sent).toHaveLength(1);

  // Nothing is left to answer: all of it is ignored.
  sent.length = 0;
  now = create(TaskSchema, { id: "t", state: TaskState.WORKING });
  await sendAnswers(to, both, responses, signal);
  expect(sent).toHaveLength(1);
});

function taskAsking(...ids: string[]): Task {
  const parts: Part[] = ids.map((toolCallId) =>
    create(PartSchema, {
      content: {
        case: "toolCall",
        value: create(ToolCallSchema, {
          toolCallId,
          toolName: "write_file",
          status: ToolCallStatus.PENDING,
          confirmationRequest: create(ConfirmationRequestSchema, {
            options: [{ id: "proceed_once", name: "Yes" }],
          }),
        }),
      },
      toolCallDetail: create(ToolCallDetailSchema, {}),
    }),
  );
  return create(TaskSchema, {
    id: "t",
    state: TaskState.INPUT_REQUIRED,
    history: [create(MessageSchema, { role: Role.AGENT, parts })],
  });
}
