import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { quoteInexactNumbers } from "@devtool/internal/exact-json";
import {
  isObject,
  objectOrEmpty,
  parseJsonOrUndefined,
  stringOrEmpty,
} from "@devtool/internal/json";
import { pageAddress } from "@devtool/internal/page-address";
import { OPTION_CANCEL, OPTION_PROCEED_ONCE } from "@devtool/schema";
import { type Approval, approvalOf, choice, generic } from "./approval.ts";
import { elementsOf, wordsOf } from "./odd-value.ts";

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

/**
 * Reads the questions of a request, in order. Those that cannot be answered,
 * since their ids are missing or those of earlier ones, are left out.
 */
export function inputQuestions(params: JsonObject): {
  readonly questions: readonly InputQuestion[];
  readonly isWhole: boolean;
} {
  const sent = elementsOf(params.questions);
  const byId = new Map<string, InputQuestion>();
  for (const question of sent.map(objectOrEmpty)) {
    const id = stringOrEmpty(question.id);
    if (id !== "" && !byId.has(id)) byId.set(id, inputQuestion(id, question));
  }
  const isWhole = byId.size === sent.length && sent.length > 0;
  return { questions: [...byId.values()], isWhole };
}

function inputQuestion(
  id: string,
  { header, question, options, isOther }: JsonObject,
): InputQuestion {
  const choices = elementsOf(options).map((option, at) => {
    const { label, description } = objectOrEmpty(option);
    const answer = wordsOf(label ?? option);
    return choice(
      `${CHOICE}${at + 1}`,
      answer,
      { answers: [answer] },
      description ? `in its words: ${JSON.stringify(description)}` : "",
    );
  });
  const own = choice(
    OWN_WORDS,
    "Answer in my own words",
    {},
    "Send the answer as text.",
  );
  const isOpen = isOther === true || choices.length === 0;
  const decline = choice(OPTION_CANCEL, "Do not answer", { answers: [] });
  const words = [header, question].map(wordsOf).filter((word) => word !== "");
  const answers = [...choices, ...(isOpen ? [own] : []), decline];
  return { id, approval: approvalOf(generic(words.join(": ")), answers) };
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
  const { mode, message, url, serverName } = params;
  const server = `MCP server ${JSON.stringify(wordsOf(serverName))}`;
  const given = wordsOf(objectOrEmpty(params._meta).tool_params);
  const asks = [
    `${server} asks: ${wordsOf(message)}`,
    ...(given === "" ? [] : [`Arguments: ${given}`]),
  ].join("\n");
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
      generic(`${server} asks to open ${address}\n${wordsOf(message)}`),
      [opened, decline],
    );
  }
  const form = formFields(params);
  if (!form) return undefined;
  const fields = Object.entries(form);
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
 * Returns the fields of a form, by name. Undefined for a form that cannot be
 * shown, and for a page; MCP calls an elicitation without a mode a form.
 */
export function formFields({
  mode,
  requestedSchema,
}: JsonObject): JsonObject | undefined {
  if ((mode ?? "form") !== "form" || !isObject(requestedSchema)) {
    return undefined;
  }
  const { properties } = requestedSchema;
  return isObject(properties) ? properties : undefined;
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
