import { confirmationsOf, type Message, type Part, toolCallsOf } from "@devtool/schema";

/**
 * A conversation without the questions of running calls, and without what the user answered them beside an option: that
 * is between the user and the tool, and no model is told.
 */
export function withoutQuestions(history: readonly Message[]): readonly Message[] {
  const questions = new Set(history.flatMap(questionsOf));
  return questions.size === 0 ? history : history.map((message) => told(message, questions));
}

function questionsOf({ parts }: Message): string[] {
  return parts.flatMap((part) =>
    isQuestion(part) && part.content.case === "toolCall" ? [part.content.value.toolCallId] : [],
  );
}

function isQuestion({ toolCallDetail }: Part): boolean {
  return toolCallDetail !== undefined && toolCallDetail.parentToolCallId !== "";
}

/** An answer stays in its place, so that a summary keeps as many messages as it counted. */
function told(message: Message, questions: ReadonlySet<string>): Message {
  const isAnswer = confirmationsOf(message).some(({ toolCallId }) => questions.has(toolCallId));
  if (isAnswer) return { ...message, parts: message.parts.filter(({ content }) => content.case === "confirmation") };
  return toolCallsOf(message).some(({ toolCallId }) => questions.has(toolCallId))
    ? { ...message, parts: message.parts.filter((part) => !isQuestion(part)) }
    : message;
}
