import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import {
  defined,
  isObject,
  listOrEmpty,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/internal/json";
import {
  findProblem,
  type SpecSchemas,
  showJson,
  withoutNulls,
} from "./message-problem.ts";
import { readMessages, SAMPLING_TYPES } from "./readable-content.ts";

/**
 * Reads what a server asks for or reports. What is not valid and is used is
 * shown as JSON where it would be shown, and the rest is left out.
 */
export function readParams(
  schemas: SpecSchemas,
  method: string,
  params: JsonValue | undefined,
): JsonObject {
  const read = withoutNulls(objectOrEmpty(params));
  if (isObject(read._meta)) {
    const { progressToken: _token, ...meta } = read._meta;
    read._meta = meta;
  } else {
    delete read._meta;
  }
  switch (method) {
    case "notifications/progress":
      return readProgress(read);
    case "sampling/createMessage":
      return readSampling(schemas, read);
    case "elicitation/create":
      return readQuestion(schemas, read);
    default:
      return read;
  }
}

function readProgress({
  progressToken,
  progress,
  total,
  message,
  _meta,
}: JsonObject): JsonObject {
  return defined({
    _meta,
    progressToken,
    progress: Number.isFinite(progress) ? progress : 0,
    total: Number.isFinite(total) ? total : undefined,
    message: showText(message),
  });
}

function readSampling(
  schemas: SpecSchemas,
  { messages, maxTokens, systemPrompt, _meta }: JsonObject,
): JsonObject {
  return defined({
    _meta,
    messages: readMessages(schemas, messages, SAMPLING_TYPES),
    maxTokens: Number.isSafeInteger(maxTokens) ? maxTokens : 0,
    systemPrompt: showText(systemPrompt),
  });
}

function readQuestion(schemas: SpecSchemas, params: JsonObject): JsonObject {
  const { mode, message, url, elicitationId, requestedSchema, _meta } = params;
  const common = defined({ _meta, message: showText(message) ?? "" });
  if (mode === "url" || requestedSchema === undefined) {
    const id = stringOrEmpty(elicitationId);
    return defined({ ...common, mode: "url", url, elicitationId: id });
  }
  const form = withoutNulls(objectOrEmpty(requestedSchema));
  const properties = Object.entries(objectOrEmpty(form.properties)).map(
    ([name, field]) => [name, readField(schemas, field)] as const,
  );
  const required = listOrEmpty(form.required).filter(
    (name) => typeof name === "string",
  );
  return {
    ...common,
    requestedSchema: {
      type: "object",
      properties: Object.fromEntries(properties),
      required,
    },
  };
}

/**
 * Reads a field of a form without the keyword that is not valid, which its
 * description names. What is not a field is asked for as text.
 */
function readField(schemas: SpecSchemas, value: JsonValue): JsonObject {
  const field = withoutNulls(objectOrEmpty(value));
  const isValid = (one: JsonObject): boolean =>
    findProblem(schemas, "PrimitiveSchemaDefinition", one) === undefined;
  if (isValid(field)) return field;
  for (const [name, odd] of Object.entries(field)) {
    const { [name]: _odd, ...rest } = field;
    if (!isValid(rest)) continue;
    const words = [rest.description, `(its ${name} is ${showJson(odd)})`];
    return { ...rest, description: words.filter(Boolean).join(" ") };
  }
  return { type: "string", description: `(it is ${showJson(value)})` };
}

/** Returns a text, or another value as JSON; undefined when it is absent. */
function showText(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" || value === undefined
    ? value
    : showJson(value);
}
