import type { DescMessage, DescMethod, JsonValue } from "@bufbuild/protobuf";
import { decodeA2aJson, encodeA2aJson, StreamResponseSchema } from "@devtool/schema/a2a-v1";
import type { Breach } from "./binding.ts";

/**
 * What is wrong with the JSON of a result of A2A 1.0: it is ProtoJSON with names in lowerCamelCase, enums by name and what
 * is required in its place (section 5.5). Fields that nobody knows are left out, as a later version may add some.
 */
export function jsonBreaches(method: DescMethod, result: JsonValue): Breach[] {
  const schema = method.methodKind === "unary" ? method.output : StreamResponseSchema;
  // JSON-RPC has `null` for nothing.
  if (result === null && schema.fields.length === 0) return [];
  const reason = jsonProblem(schema, result);
  return reason === undefined ? [] : [{ requirement: "A2A1-JSON", reason }];
}

/** What is wrong with JSON of a message of A2A 1.0; undefined when nothing is. */
export function jsonProblem(schema: DescMessage, json: JsonValue): string | undefined {
  try {
    const again = encodeA2aJson(schema, decodeA2aJson(schema, json));
    return difference(again, json, schema.name);
  } catch (reason) {
    return `${schema.name} is not readable as ProtoJSON: ${reason instanceof Error ? reason.message : String(reason)}`;
  }
}

/** Says what of a value is not there as it is written in ProtoJSON. */
function difference(written: JsonValue, actual: JsonValue | undefined, path: string): string | undefined {
  if (Array.isArray(written)) {
    const items = Array.isArray(actual) ? actual : [];
    return first(written.map((item, index) => difference(item, items[index], `${path}[${index}]`)));
  }
  if (typeof written === "object" && written !== null) {
    const fields = typeof actual === "object" && actual !== null && !Array.isArray(actual) ? actual : {};
    return first(Object.entries(written).map(([name, value]) => difference(value, fields[name], `${path}.${name}`)));
  }
  if (written === actual || isSameTime(written, actual)) return undefined;
  return `${path} must be ${JSON.stringify(written)}: got ${JSON.stringify(actual) ?? "nothing"}`;
}

/** Fractions of seconds may have more digits than are needed. */
function isSameTime(written: JsonValue, actual: JsonValue | undefined): boolean {
  const isTime = typeof written === "string" && typeof actual === "string" && /^\d{4}-\d\d-\d\dT.*Z$/.test(actual);
  return isTime && Date.parse(written) === Date.parse(actual);
}

function first(problems: readonly (string | undefined)[]): string | undefined {
  return problems.find((problem) => problem !== undefined);
}
