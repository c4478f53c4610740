import type { MessageInitShape } from "@bufbuild/protobuf";
import { isInterrupted, type PartSchema, type Task } from "@devtool/schema";
import { Code, DevtoolError, invalid } from "@devtool/server/agent";
import * as z from "zod";
import type { PortTasks } from "./port.ts";
import {
  answerParts,
  type HostAnswer,
  messageKey,
  openQuestions,
  readAnswer,
} from "./question.ts";

/** What answers of a host need of the port. */
export interface AnswersTo {
  readonly tasks: PortTasks;
  readonly nextId: () => string;
}

/**
 * Sends a host's answers to what a task waits for, all of them in one message.
 * A key that nothing waits for any more is ignored: somebody else has answered,
 * perhaps while this was sent.
 *
 * Throws `Code.InvalidArgument` for a response that is none, before anything is
 * sent.
 */
export async function sendAnswers(
  { tasks, nextId }: AnswersTo,
  task: Task,
  responses: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<void> {
  const open = waitingKeys(task).filter((key) => responses[key] !== undefined);
  const parts = answersTo(task, responses);
  if (parts === "cancel") return tasks.cancel(task.id, signal);
  if (parts.length === 0) return;
  const message = { messageId: nextId(), parts };
  try {
    await tasks.send(
      { message, taskId: task.id, returnImmediately: true },
      signal,
    );
  } catch (reason) {
    if (DevtoolError.from(reason).code !== Code.FailedPrecondition)
      throw reason;
    const now = await tasks.get(task.id, signal);
    const still = waitingKeys(now);
    if (open.every((key) => still.includes(key))) throw reason;
    // The answers to the other questions count.
    await sendAnswers({ tasks, nextId }, now, responses, signal);
  }
}

/** Lists the keys of what a task waits for. */
function waitingKeys(task: Task): string[] {
  if (!isInterrupted(task.state)) return [];
  const keys = openQuestions(task).map(({ key }) => key);
  return keys.length > 0 ? keys : [messageKey(task)];
}

/** Returns the parts of a message that answer what a task waits for. */
function answersTo(
  task: Task,
  responses: Readonly<Record<string, unknown>>,
): MessageInitShape<typeof PartSchema>[] | "cancel" {
  if (!isInterrupted(task.state)) return [];
  const questions = openQuestions(task);
  if (questions.length > 0) {
    return questions.flatMap((question) => {
      const response = responses[question.key];
      return response === undefined
        ? []
        : answerParts(question, parse(question.key, response));
    });
  }
  const key = messageKey(task);
  if (responses[key] === undefined) return [];
  const { action, content = {} } = parse(key, responses[key]);
  if (action !== "accept") return "cancel";
  const { text } = content;
  if (typeof text !== "string" || text === "") {
    throw invalid(
      `inputResponses[${JSON.stringify(key)}].content.text`,
      "",
      "is empty",
      "send the message to the agent",
    );
  }
  return [{ content: { case: "text", value: text } }];
}

function parse(key: string, response: unknown): HostAnswer {
  try {
    return readAnswer(response);
  } catch (reason) {
    if (!(reason instanceof z.ZodError)) throw reason;
    throw invalid(
      `inputResponses[${JSON.stringify(key)}]`,
      JSON.stringify(response),
      "is not the answer to a form",
      "send an action, and the content of the form with accept",
    );
  }
}
