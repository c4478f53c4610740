import type { DescMessage, DescMethod, JsonValue } from "@bufbuild/protobuf";
import { isObject, listOrEmpty, objectOrEmpty } from "@devtool/internal/json";
import {
  A2AService,
  decodeA2aJson,
  encodeA2aJson,
  StreamResponseSchema,
} from "@devtool/schema/a2a-v1";
import { firstProblem } from "../match/match.ts";
import type { Breach } from "./binding.ts";

/**
 * The methods of A2A 1.0 by their names.
 */
export const A2A_METHODS: ReadonlyMap<string, DescMethod> = new Map(
  A2AService.methods.map((method) => [method.name, method]),
);

/**
 * Checks the JSON of a result of A2A 1.0: ProtoJSON with names in
 * lowerCamelCase, enums by name, and all required fields (section 5.5). Unknown
 * fields are allowed, because a later version may add some.
 */
export function resultBreaches(
  method: DescMethod,
  result: JsonValue,
): Breach[] {
  const schema =
    method.methodKind === "unary" ? method.output : StreamResponseSchema;
  // JSON-RPC writes an empty result as null.
  if (result === null && schema.fields.length === 0) return [];
  const reason = a2aJsonProblem(schema, result);
  return reason === undefined ? [] : [{ requirement: "A2A1-JSON", reason }];
}

/**
 * Describes what is wrong with the JSON of a message of A2A 1.0. Returns
 * undefined if it is valid.
 */
export function a2aJsonProblem(
  schema: DescMessage,
  json: JsonValue,
): string | undefined {
  try {
    return difference(
      encodeA2aJson(schema, decodeA2aJson(schema, json)),
      json,
      schema.name,
    );
  } catch (reason) {
    return `${schema.name} is not valid ProtoJSON: ${reason instanceof Error ? reason.message : String(reason)}`;
  }
}

/**
 * Describes the first part of a value that is not written as ProtoJSON writes
 * it.
 */
function difference(
  written: JsonValue,
  actual: JsonValue | undefined,
  path: string,
): string | undefined {
  if (Array.isArray(written)) {
    const items = listOrEmpty(actual);
    return firstProblem(
      written.map((item, index) =>
        difference(item, items[index], `${path}[${index}]`),
      ),
    );
  }
  if (isObject(written)) {
    const fields = objectOrEmpty(actual);
    const names = Object.entries(written);
    return firstProblem(
      names.map(([name, value]) =>
        difference(value, fields[name], `${path}.${name}`),
      ),
    );
  }
  if (written === actual) return undefined;
  if (
    typeof written === "string" &&
    typeof actual === "string" &&
    /^\d{4}-\d\d-\d\dT.*Z$/.test(actual)
  ) {
    // Fractions of a second may be written with trailing zeros.
    if (Date.parse(written) === Date.parse(actual)) return undefined;
  }
  return `${path} must be ${JSON.stringify(written)}: got ${JSON.stringify(actual) ?? "nothing"}`;
}
