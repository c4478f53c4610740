import { type DescMessage, fromJson } from "@bufbuild/protobuf";
import {
  A2AService,
  AgentCardSchema,
  missingFields,
  StreamResponseSchema,
} from "@devtool/schema/a2a-v1";
import type { Json } from "./bindings.ts";

/**
 * Returns how an answer differs from the standard's messages: by unknown
 * fields, or by required ones that are missing.
 */
export function violations(method: string, answer: Json): string[] {
  return violationsOf(answerOf(method), answer);
}

/** The same for an element of a stream. */
export function elementViolations(element: Json): string[] {
  return violationsOf(StreamResponseSchema, element);
}

/** The same for the agent card. */
export function cardViolations(card: Json): string[] {
  return violationsOf(AgentCardSchema, card);
}

function answerOf(method: string): DescMessage {
  const found = A2AService.methods.find(({ name }) => name === method);
  if (!found) throw new TypeError(`${method} is not a method of A2A 1.0`);
  return found.output;
}

function violationsOf(schema: DescMessage, json: Json): string[] {
  try {
    const message = fromJson(schema, json, { ignoreUnknownFields: false });
    const missing = missingFields(schema, message).map(
      ({ field, description }) => `${field} ${description}`,
    );
    return [...missing, ...emptyOf(schema, json)];
  } catch (reason) {
    return [String(reason)];
  }
}

/**
 * Returns the fields with values that ProtoJSON omits: an unset message, an
 * unspecified enum.
 */
function emptyOf(schema: DescMessage, json: Json): string[] {
  return schema.fields.flatMap((field) =>
    json[field.jsonName] === null ||
    String(json[field.jsonName]).endsWith("_UNSPECIFIED")
      ? [`${field.jsonName} is ${json[field.jsonName]}`]
      : [],
  );
}
