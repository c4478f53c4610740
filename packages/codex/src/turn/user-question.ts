import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import {
  OPTION_CANCEL,
  OPTION_PROCEED_ONCE,
  quoteInexactNumbers,
} from "@devtool/schema";
import {
  isObject,
  listOrEmpty,
  objectOrEmpty,
  parseJsonOrUndefined,
  stringOrEmpty,
} from "@devtool/schema/json";
import { pageAddress } from "@devtool/server/agent";
import { type Approval, approvalOf, choice, generic } from "./approval.ts";

/** A question of `item/tool/requestUserInput`. */
export interface InputQuestion {
  readonly id: string;
  readonly approval: Approval;
}

/**
 * The option with which the user answers in their own words, in a text part of
 * the answer's message.
 */
const OWN_WORDS = "own_words";
/**
 * The id of an option that stands for a choice is this, followed by its number.
 */
const CHOICE = "choice:";

/** Reads the questions of a request, in order. */
export function inputQuestions({ questions }: JsonObject): InputQuestion[] {
  return listOrEmpty(questions)
    .map(objectOrEmpty)
    .map((question) => {
      const { header, question: text, options, isOther } = question;
      const labels = listOrEmpty(options).map(objectOrEmpty);
      const choices = labels.map(({ label, description }, at) =>
        choice(
          `${CHOICE}${at + 1}`,
          stringOrEmpty(label),
          { answers: [label ?? ""] },
          description ? `in its words: ${JSON.stringify(description)}` : "",
        ),
      );
      const isOpen = isOther === true || labels.length === 0;
      const own = isOpen
        ? [
            choice(
              OWN_WORDS,
              "Answer in my own words",
              {},
              "Send the answer as text.",
            ),
          ]
        : [];
      const decline = choice(OPTION_CANCEL, "Do not answer", { answers: [] });
      const words = [header, text]
        .map(stringOrEmpty)
        .filter((word) => word !== "");
      return {
        id: stringOrEmpty(question.id),
        approval: approvalOf(generic(words.join(": ")), [
          ...choices,
          ...own,
          decline,
        ]),
      };
    });
}

/**
 * Returns the answer to a question (`ToolRequestUserInputAnswer`), from the
 * chosen option and the text sent with it.
 */
export function inputAnswer(
  { approval }: InputQuestion,
  optionId: string,
  text: string,
): JsonObject {
  if (optionId === OWN_WORDS) return { answers: [text] };
  return approval.results.get(optionId) ?? { answers: [] };
}

/**
 * Returns the question of an MCP server to the user (elicitation). Undefined
 * for a form or an address that cannot be shown.
 */
export function elicitationQuestion(params: JsonObject): Approval | undefined {
  const { mode, message, url, serverName, requestedSchema } = params;
  const server = `MCP server ${JSON.stringify(stringOrEmpty(serverName))}`;
  const asks = `${server} asks: ${stringOrEmpty(message)}`;
  const decline = choice(
    OPTION_CANCEL,
    "Decline",
    elicitationResult("decline", null),
  );
  if (mode === "url") {
    const address = pageAddress(stringOrEmpty(url));
    if (address === undefined) return undefined;
    const opened = choice(
      OPTION_PROCEED_ONCE,
      "I opened it",
      elicitationResult("accept", null),
    );
    return approvalOf(
      generic(`${server} asks to open ${address}\n${stringOrEmpty(message)}`),
      [opened, decline],
    );
  }
  if (mode !== "form") return undefined;
  const fields = Object.entries(
    objectOrEmpty(objectOrEmpty(requestedSchema).properties),
  );
  const send = choice(
    OPTION_PROCEED_ONCE,
    fields.length === 0 ? "Yes" : "Send the answer",
    elicitationResult("accept", {}),
  );
  if (fields.length === 0) return approvalOf(generic(asks), [send, decline]);
  const lines = fields.map(
    ([name, field]) => `- ${name}: ${JSON.stringify(field)}`,
  );
  const words = [asks, "Answer with a JSON object that has:", ...lines];
  return approvalOf(generic(words.join("\n")), [send, decline]);
}

/**
 * Returns the result of an elicitation, from the chosen option and the text
 * sent with it.
 */
export function elicitationAnswer(
  { results }: Approval,
  optionId: string,
  text: string,
): JsonObject {
  const chosen = results.get(optionId) ?? elicitationResult("cancel", null);
  if (chosen.action !== "accept" || !isObject(chosen.content)) return chosen;
  const content = parseJsonOrUndefined(quoteInexactNumbers(text));
  return elicitationResult("accept", isObject(content) ? content : {});
}

/** Creates the result of an elicitation. */
export function elicitationResult(
  action: string,
  content: JsonValue,
): JsonObject {
  return { action, content, _meta: null };
}
