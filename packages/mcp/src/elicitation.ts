import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import type { Answer, Question } from "@devtool/coding-agent/tool";
import { quoteInexactNumbers } from "@devtool/internal/exact-json";
import { idEnding } from "@devtool/internal/id-ending";
import {
  isObject,
  listOrEmpty,
  objectOrEmpty,
  parseJsonOrUndefined,
  plainJson,
} from "@devtool/internal/json";
import { pageAddress } from "@devtool/internal/page-address";
import {
  type ConfirmationOption,
  ConfirmationOptionSchema,
  GenericDetailsSchema,
  OPTION_CANCEL,
  OPTION_PROCEED_ONCE,
} from "@devtool/schema";
import type {
  ElicitRequest,
  ElicitRequestFormParams,
  ElicitResult,
  jsonSchemaValidator,
} from "@modelcontextprotocol/client";
import type { CallHooks } from "./call-events.ts";
import { type AskingServer, serverTitle } from "./server-place.ts";

/**
 * The number of invalid answers after which the server is told that the user
 * gave up.
 */
const MAX_ATTEMPTS = 3;
/**
 * The id of an option that stands for a value is this, followed by the value as
 * JSON, or by its number.
 */
const VALUE_OPTION = "value:";

/** How the user is asked, and how the answers are checked. */
export interface Eliciting {
  readonly hooks: CallHooks;
  readonly validator: jsonSchemaValidator;
}

/**
 * Asks the user what a server wants to know (MCP elicitation): to fill in a
 * form, or to open a page.
 *
 * An answer that does not fit the form is asked for again, with the reason. A
 * page whose address is not one is declined. Rejects when the signal aborts,
 * and withdraws the question.
 */
export async function elicit(
  server: AskingServer,
  { params }: ElicitRequest,
  { hooks, validator }: Eliciting,
  signal: AbortSignal,
): Promise<ElicitResult> {
  if (params.mode !== "url") {
    return elicitForm(server, params, { hooks, validator }, signal);
  }
  const address = pageAddress(params.url);
  if (address === undefined) return { action: "decline" };
  const description = `${serverTitle(server)} asks to open ${address}\n${params.message}`;
  const opened = create(ConfirmationOptionSchema, {
    id: OPTION_PROCEED_ONCE,
    name: "I opened it",
  });
  const { optionId } = await hooks.ask(
    createQuestion(server, description, [opened]),
    signal,
  );
  return { action: optionId === OPTION_PROCEED_ONCE ? "accept" : "decline" };
}

async function elicitForm(
  server: AskingServer,
  params: ElicitRequestFormParams,
  { hooks, validator }: Eliciting,
  signal: AbortSignal,
): Promise<ElicitResult> {
  const schema = plainJson(params.requestedSchema);
  const validate = validator.getValidator(schema);
  let problem = "";
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const answer = await hooks.ask(
      formQuestion(server, params.message, schema, problem),
      signal,
    );
    if (answer.optionId === OPTION_CANCEL) return { action: "decline" };
    const content = readContent(answer, schema);
    if (!content) {
      problem = "the answer is not a JSON object";
      continue;
    }
    const { valid, errorMessage } = validate(content);
    if (!valid) {
      problem = errorMessage;
      continue;
    }
    // The content is valid, so nothing is lost in the type of the SDK.
    const values: FormValues = {};
    for (const [name, value] of Object.entries(content)) {
      if (Array.isArray(value)) {
        values[name] = value.map(String);
      } else if (typeof value !== "object") {
        values[name] = value;
      }
    }
    return { action: "accept", content: values };
  }
  return { action: "cancel" };
}

/** A field of a form, and its JSON Schema. */
type Field = readonly [name: string, schema: JsonObject];

function readFields({ properties }: JsonObject): Field[] {
  return Object.entries(objectOrEmpty(properties)).flatMap(([name, schema]) =>
    isObject(schema) ? [[name, schema] as const] : [],
  );
}

/**
 * Returns the question for a form: one option for each value if the only field
 * is a choice, otherwise the fields in words.
 *
 * `problem` says what was wrong with the last answer; it is empty at first.
 */
function formQuestion(
  server: AskingServer,
  message: string,
  schema: JsonObject,
  problem: string,
): Question {
  const fields = readFields(schema);
  const [only] = fields;
  const choices = fields.length === 1 && only ? readChoices(only[1]) : [];
  const lines = [`${serverTitle(server)} asks: ${message}`];
  if (problem !== "") lines.push(`The last answer did not fit: ${problem}`);
  if (choices.length > 0) {
    const options = choices.map(({ value, name }, index) =>
      create(ConfirmationOptionSchema, {
        id: VALUE_OPTION + idEnding(JSON.stringify(value), index),
        name,
      }),
    );
    return createQuestion(server, lines.join("\n"), options);
  }
  if (fields.length > 0) {
    const required = listOrEmpty(schema.required);
    lines.push(
      fields.length === 1
        ? "Answer with the value of:"
        : "Answer with a JSON object that has:",
      ...fields.map(
        ([name, field]) =>
          `- ${name}: ${describeField(field)}${required.includes(name) ? ", required" : ""}`,
      ),
    );
  }
  const name = fields.length === 0 ? "Yes" : "Send the answer";
  const send = create(ConfirmationOptionSchema, {
    id: OPTION_PROCEED_ONCE,
    name,
  });
  return createQuestion(server, lines.join("\n"), [send]);
}

function createQuestion(
  server: AskingServer,
  description: string,
  options: readonly ConfirmationOption[],
): Question {
  return {
    description: `${serverTitle(server)} asks`,
    details: {
      case: "genericDetails",
      value: create(GenericDetailsSchema, { description }),
    },
    options: [
      ...options,
      create(ConfirmationOptionSchema, { id: OPTION_CANCEL, name: "Decline" }),
    ],
  };
}

/** A value that a field may have, and its name for a person. */
interface Choice {
  readonly value: JsonValue;
  readonly name: string;
}

/**
 * Returns the values of a field that is a choice of one value; empty for any
 * other field. Choices with the same title are told apart by their values.
 */
function readChoices(field: JsonObject): Choice[] {
  if (field.type === "boolean") {
    return [true, false].map((value) => ({
      value,
      name: value ? "Yes" : "No",
    }));
  }
  const titled = listOrEmpty(field.oneOf).filter(isObject);
  const names = listOrEmpty(field.enumNames);
  const choices =
    titled.length > 0
      ? titled.map(({ const: value = null, title }) => ({ value, title }))
      : listOrEmpty(field.enum).map((value, at) => ({
          value,
          title: names[at],
        }));
  const byTitle = Map.groupBy(choices, ({ title }) => title);
  return choices.map(({ value, title }) => {
    if (typeof title !== "string") return { value, name: String(value) };
    const isAlone = byTitle.get(title)?.length === 1;
    const name = isAlone ? title : `${title} (${JSON.stringify(value)})`;
    return { value, name };
  });
}

/**
 * Describes what a field accepts: its title and description, its choices or
 * type, and its default.
 */
function describeField(field: JsonObject): string {
  const choices = readChoices(field).map(({ value }) => JSON.stringify(value));
  const words = [
    [field.title, field.description]
      .filter((word) => typeof word === "string")
      .join(": "),
    choices.length > 0 ? `one of ${choices.join(", ")}` : String(field.type),
    field.default === undefined
      ? ""
      : `default ${JSON.stringify(field.default)}`,
  ];
  return words.filter((word) => word !== "").join(", ");
}

/**
 * Returns the content that an answer gives, completed with the defaults of the
 * form; undefined when it cannot be read.
 */
function readContent(
  { optionId, text }: Answer,
  schema: JsonObject,
): JsonObject | undefined {
  const fields = readFields(schema);
  const defaults = Object.fromEntries(
    fields.flatMap(([name, field]) =>
      field.default === undefined ? [] : [[name, field.default] as const],
    ),
  );
  const [only, ...others] = fields;
  if (optionId.startsWith(VALUE_OPTION)) {
    if (!only) return undefined;
    const chosen = readChoices(only[1]).find(
      ({ value }, index) =>
        optionId === VALUE_OPTION + idEnding(JSON.stringify(value), index),
    );
    return { ...defaults, [only[0]]: chosen?.value ?? null };
  }
  if (text.trim() === "") return defaults;
  const value = parseJsonOrUndefined(quoteInexactNumbers(text));
  if (isObject(value)) return { ...defaults, ...value };
  if (!only || others.length > 0) return undefined;
  const [name, { type }] = only;
  return {
    ...defaults,
    [name]: type === "string" || value === undefined ? text : value,
  };
}

/** The values that MCP allows in a form. */
type FormValues = Record<string, string | number | boolean | string[]>;
