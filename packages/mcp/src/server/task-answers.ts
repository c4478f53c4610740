import { isInterrupted, type Task } from "@devtool/schema";
import { invalid } from "@devtool/server/agent";
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
 * Sends a host's answers to what a task waits for, all of them in one message,
 * and returns whether there was any. A key that nothing waits for any more is
 * ignored: somebody else has answered.
 *
 * Throws `Code.InvalidArgument` for a response that is none, before anything is
 * sent.
 */
export async function sendAnswers(
  { tasks, nextId }: AnswersTo,
  task: Task,
  responses: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<boolean> {
  if (!isInterrupted(task.state)) return false;
  const questions = openQuestions(task);
  const parts = questions.flatMap((question) => {
    const response = responses[question.key];
    return response === undefined
      ? []
      : answerParts(question, parse(question.key, response));
  });
  const key = messageKey(task);
  if (questions.length === 0 && responses[key] !== undefined) {
    const { action, content = {} } = parse(key, responses[key]);
    if (action !== "accept") {
      await tasks.cancel(task.id, signal);
      return true;
    }
    const { text } = content;
    if (typeof text !== "string" || text === "") {
      throw invalid(
        `inputResponses[${JSON.stringify(key)}].content.text`,
        "",
        "is empty",
        "send the message to the agent",
      );
    }
    parts.push({ content: { case: "text", value: text } });
  }
  if (parts.length === 0) return false;
  await tasks.send(
    {
      message: { messageId: nextId(), parts },
      taskId: task.id,
      returnImmediately: true,
    },
    signal,
  );
  return true;
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
