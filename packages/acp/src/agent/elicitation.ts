import type { CreateElicitationResponse } from "@agentclientprotocol/sdk";
import { create, type JsonObject } from "@bufbuild/protobuf";
import { quoteInexactNumbers } from "@devtool/internal/exact-json";
import { idEnding } from "@devtool/internal/id-ending";
import {
  isObject,
  listOrEmpty,
  objectOrEmpty,
  parseJsonOrUndefined,
  stringOrEmpty,
} from "@devtool/internal/json";
import { pageAddress } from "@devtool/internal/page-address";
import {
  answerText,
  ConfirmationOptionSchema,
  ConfirmationRequestSchema,
  GenericDetailsSchema,
  OPTION_CANCEL,
  OPTION_PROCEED_ONCE,
  type Task,
  type ToolCallConfirmation,
  ToolCallSchema,
  ToolCallStatus,
} from "@devtool/schema";
import type { CallUpdate } from "@devtool/server/agent";
import { choicesOf, describeField, fieldValue, wordsOf } from "./form-field.ts";

/**
 * The id of an option that stands for a value is this, followed by the value,
 * or by its number.
 */
const VALUE_OPTION = "value:";

/**
 * Creates the call that asks the user for the requested information; undefined
 * for an unknown mode of elicitation.
 */
export function elicitationCall(
  toolCallId: string,
  params: JsonObject,
): CallUpdate | undefined {
  const description = describe(params);
  if (description === undefined) return undefined;
  const [only, ...others] = fieldsOf(params);
  const choices =
    only && others.length === 0 && only[1].type !== "array"
      ? choicesOf(only[1])
      : [];
  const byTitle = Map.groupBy(choices, ({ title }) => title);
  const answers =
    choices.length > 0
      ? choices.map(({ value, title }, index) => ({
          id: VALUE_OPTION + idEnding(value, index),
          // Choices with the same title are told apart by their values.
          name:
            byTitle.get(title)?.length === 1 ? title : `${title} (${value})`,
        }))
      : [
          {
            id: OPTION_PROCEED_ONCE,
            name: params.mode === "url" ? "I opened it" : "Send the answer",
          },
        ];
  const options = [...answers, { id: OPTION_CANCEL, name: "Decline" }].map(
    (option) => create(ConfirmationOptionSchema, option),
  );
  const details = {
    case: "genericDetails" as const,
    value: create(GenericDetailsSchema, { description }),
  };
  const call = create(ToolCallSchema, {
    toolCallId,
    toolName: "elicitation",
    status: ToolCallStatus.PENDING,
    description: wordsOf(params.message).split("\n")[0] ?? "",
    confirmationRequest: create(ConfirmationRequestSchema, {
      options,
      details,
    }),
  });
  return { call };
}

/**
 * Returns the answer for the agent: the text beside the user's confirmation
 * holds the values.
 */
export function elicitationResponse(
  params: JsonObject,
  { toolCallId, selectedOptionId }: ToolCallConfirmation,
  task: Task,
): CreateElicitationResponse {
  if (selectedOptionId === OPTION_CANCEL) return { action: "decline" };
  if (params.mode === "url") return { action: "accept" };
  const fields = fieldsOf(params);
  const defaults = Object.fromEntries(
    fields.flatMap(([name, { default: value }]) =>
      value === undefined ? [] : [[name, value]],
    ),
  );
  // Trimmed, since it is the value of a field: a blank answer leaves the field
  // as it is.
  const text = answerText(task, toolCallId).trim();
  const value = parseJsonOrUndefined(quoteInexactNumbers(text));
  const [only, ...others] = fields;
  const given: JsonObject = isObject(value) ? value : {};
  if (only && others.length === 0 && !isObject(value)) {
    const chosen = choicesOf(only[1]).find(
      ({ value: choice }, index) =>
        selectedOptionId === VALUE_OPTION + idEnding(choice, index),
    );
    if (chosen) {
      given[only[0]] = chosen.value;
    } else if (text !== "") {
      given[only[0]] = fieldValue(only[1], text, value);
    }
  }
  const content: Record<string, string | number | boolean | string[]> = {};
  for (const [name, field] of Object.entries({ ...defaults, ...given })) {
    if (Array.isArray(field)) {
      content[name] = field.map((item) => wordsOf(item).toWellFormed());
    } else if (typeof field !== "object") {
      content[name] = typeof field === "string" ? field.toWellFormed() : field;
    }
  }
  const isComplete = requiredOf(params).every((name) =>
    Object.hasOwn(content, name),
  );
  return isComplete ? { action: "accept", content } : { action: "cancel" };
}

function describe(params: JsonObject): string | undefined {
  const message = wordsOf(params.message);
  if (params.mode === "url") {
    const address = pageAddress(stringOrEmpty(params.url));
    return address && `The agent asks to open ${address}\n${message}`;
  }
  if (params.mode !== "form") return undefined;
  const schema = params.requestedSchema ?? {};
  const { properties, type, title, description, required, ...others } =
    objectOrEmpty(schema);
  const isForm =
    isObject(schema) &&
    isObject(properties ?? {}) &&
    (isObject(properties) || Object.keys(others).length === 0) &&
    fieldsOf(params).every(([name]) => name.isWellFormed());
  if (!isForm) return undefined;
  const needed = requiredOf(params);
  const lines = fieldsOf(params).map(
    ([name, field]) =>
      `- ${name}: ${describeField(field)}${needed.includes(name) ? ", required" : ""}`,
  );
  const heading =
    lines.length === 1
      ? "Answer with the value of:"
      : "Answer with a JSON object that has:";
  return [message, ...(lines.length > 0 ? [heading, ...lines] : [])].join("\n");
}

function fieldsOf(params: JsonObject): (readonly [string, JsonObject])[] {
  const { properties } = objectOrEmpty(params.requestedSchema);
  const fields = objectOrEmpty(properties);
  // A field may be required without being described.
  const others = requiredOf(params).filter(
    (name) => !Object.hasOwn(fields, name),
  );
  const named = others.map((name) => [name, null] as const);
  return [...Object.entries(fields), ...named].map(([name, schema]) => [
    name,
    isObject(schema) ? schema : { title: wordsOf(schema) || "any value" },
  ]);
}

/** Returns the names of the fields of a form that need a value. */
function requiredOf(params: JsonObject): string[] {
  const { required } = objectOrEmpty(params.requestedSchema);
  const names = listOrEmpty(required).map(stringOrEmpty);
  return [...new Set(names)].filter((name) => name !== "");
}
