import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import type { Answer, Question } from "@devtool/coding-agent/tool";
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
import type { CallHooks } from "./call-hooks.ts";
import { type AskingServer, titleOf } from "./server-place.ts";
import { plainObject } from "./tool-definition.ts";

/** The number of wrong answers of a user after which the server is told that they gave up. */
const MAX_ATTEMPTS = 3;
const VALUE_OPTION = "value:";

/** How a server reaches the user, and how what they say is checked. */
export interface Asking {
  readonly hooks: CallHooks;
  readonly validator: jsonSchemaValidator;
}

/** Asks the user what a server wants to know, until the answer fits what it asked for. */
export async function elicit(server: AskingServer, { params }: ElicitRequest, asking: Asking): Promise<ElicitResult> {
  if (params.mode === "url") {
    const url = webAddress(params.url);
    if (url === undefined) return { action: "decline" };
    const words = `${titleOf(server)} asks to open ${url}\n${params.message}`;
    const { optionId } = await asking.hooks.ask(question(server, words, [option(OPTION_PROCEED_ONCE, "I opened it")]));
    return { action: optionId === OPTION_PROCEED_ONCE ? "accept" : "decline" };
  }
  return elicitForm(server, params, asking);
}

/** An address as a browser takes it; undefined for one that would run something, or that reads like another host's. */
function webAddress(text: string): string | undefined {
  const url = URL.parse(text);
  if (!url || !["https:", "http:"].includes(url.protocol) || url.username !== "" || url.password !== "")
    return undefined;
  return url.href;
}

async function elicitForm(
  server: AskingServer,
  params: ElicitRequestFormParams,
  { hooks, validator }: Asking,
): Promise<ElicitResult> {
  const form = plainObject(params.requestedSchema);
  const validate = validator.getValidator(form);
  const { message } = params;
  let problem = "";
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const answer = await hooks.ask(formQuestion({ server, message, form, problem }));
    if (answer.optionId === OPTION_CANCEL) return { action: "decline" };
    const content = withDefaults(contentOf(answer, form), form);
    if (content === undefined) problem = "the answer is not a JSON object";
    else {
      const { valid, errorMessage } = validate(content);
      if (valid) return { action: "accept", content: elicited(content) };
      problem = errorMessage;
    }
  }
  return { action: "cancel" };
}

/** What a user is asked to fill in. */
interface Form {
  readonly server: AskingServer;
  readonly message: string;
  /** The schema of the answer. */
  readonly form: JsonObject;
  /** What was wrong with the last answer; empty at first. */
  readonly problem: string;
}

function formQuestion({ server, message, form, problem }: Form): Question {
  const fields = fieldsOf(form);
  const [only] = fields;
  const choices = fields.length === 1 && only ? choicesOf(only[1]) : [];
  const options =
    choices.length > 0
      ? choices.map(({ value, name }) => option(VALUE_OPTION + JSON.stringify(value), name))
      : [option(OPTION_PROCEED_ONCE, fields.length === 0 ? "Yes" : "Send the answer")];
  const words = [
    `${titleOf(server)} asks: ${message}`,
    ...(problem === "" ? [] : [`The last answer did not fit: ${problem}`]),
    ...(choices.length > 0 ? [] : howToAnswer(fields, form)),
  ];
  return question(server, words.join("\n"), options);
}

function howToAnswer(fields: readonly Field[], form: JsonObject): string[] {
  if (fields.length === 0) return [];
  const how = fields.length === 1 ? "Answer with the value of:" : "Answer with a JSON object that has:";
  const required = Array.isArray(form.required) ? form.required : [];
  return [
    how,
    ...fields.map(([name, field]) => `- ${name}: ${fieldWords(field)}${required.includes(name) ? ", required" : ""}`),
  ];
}

function question(server: AskingServer, words: string, options: readonly ConfirmationOption[]): Question {
  return {
    description: `${titleOf(server)} asks`,
    details: { case: "genericDetails", value: create(GenericDetailsSchema, { description: words }) },
    options: [...options, option(OPTION_CANCEL, "Decline")],
  };
}

function option(id: string, name: string): ConfirmationOption {
  return create(ConfirmationOptionSchema, { id, name });
}

type Field = readonly [name: string, schema: JsonObject];

function fieldsOf({ properties }: JsonObject): Field[] {
  return isObject(properties)
    ? Object.entries(properties).flatMap(([name, schema]) => (isObject(schema) ? [[name, schema] as const] : []))
    : [];
}

/** The values of a field that offers a choice of one. */
function choicesOf(field: JsonObject): { readonly value: JsonValue; readonly name: string }[] {
  if (field.type === "boolean") return [true, false].map((value) => ({ value, name: value ? "Yes" : "No" }));
  const titled = Array.isArray(field.oneOf) ? field.oneOf.filter(isObject) : [];
  if (titled.length > 0)
    return titled.map(({ const: value = null, title }) => ({ value, name: String(title ?? value) }));
  const names = Array.isArray(field.enumNames) ? field.enumNames : [];
  return Array.isArray(field.enum) ? field.enum.map((value, at) => ({ value, name: String(names[at] ?? value) })) : [];
}

/** What a field takes, in words: its title and description, its type, its choices and its default. */
function fieldWords(field: JsonObject): string {
  const choices = choicesOf(field).map(({ value }) => JSON.stringify(value));
  const words = [
    [field.title, field.description].filter((word) => typeof word === "string").join(": "),
    choices.length > 0 ? `one of ${choices.join(", ")}` : String(field.type),
    field.default === undefined ? "" : `default ${JSON.stringify(field.default)}`,
  ];
  return words.filter((word) => word !== "").join(", ");
}

/** The content that an answer means; undefined when it cannot be read. */
function contentOf({ optionId, text }: Answer, form: JsonObject): JsonObject | undefined {
  const [only, ...others] = fieldsOf(form);
  if (optionId.startsWith(VALUE_OPTION))
    return only && { [only[0]]: parsed(optionId.slice(VALUE_OPTION.length)) ?? null };
  if (text.trim() === "") return {};
  const value = parsed(text);
  if (isObject(value)) return value;
  if (!only || others.length > 0) return undefined;
  const isText = only[1].type === "string";
  return { [only[0]]: isText || value === undefined ? text : value };
}

function withDefaults(content: JsonObject | undefined, form: JsonObject): JsonObject | undefined {
  if (content === undefined) return undefined;
  const defaults = fieldsOf(form).flatMap(([name, field]) =>
    field.default === undefined ? [] : [[name, field.default] as const],
  );
  return { ...Object.fromEntries(defaults), ...content };
}

/** What MCP lets a form hold; the schema has been checked before, so nothing is lost. */
function elicited(content: JsonObject): Record<string, string | number | boolean | string[]> {
  const values: Record<string, string | number | boolean | string[]> = {};
  for (const [name, value] of Object.entries(content)) {
    if (Array.isArray(value)) values[name] = value.map(String);
    else if (typeof value !== "object") values[name] = value;
  }
  return values;
}

function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
