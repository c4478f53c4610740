import type { DescMessage, DescMethod, JsonValue } from "@bufbuild/protobuf";
import {
  defined,
  isObject,
  listOrEmpty,
  objectOrEmpty,
} from "@devtool/internal/json";
import {
  A2AService,
  decodeA2aJson,
  encodeA2aJson,
  missingFields,
  StreamResponseSchema,
} from "@devtool/schema/a2a-v1";
import { firstProblem } from "../match/match.ts";
import { withoutOldNames } from "./other-names.ts";

/**
 * The methods of A2A 1.0 by their names.
 */
export const A2A_METHODS: ReadonlyMap<string, DescMethod> = new Map(
  A2AService.methods.map((method) => [method.name, method]),
);

/**
 * Returns the requirement that the JSON of a method's result shows.
 */
export function jsonRequirement(method: string): string {
  return method === "GetExtendedAgentCard" ? "A2A1-EXTENDED-CARD" : "A2A1-JSON";
}

/**
 * A result as a reader understands it, whatever is wrong with its JSON.
 */
export interface ReadResult {
  /**
   * The result as it should have been written, with all other fields.
   */
  readonly json: JsonValue;
  readonly problem?: string;
  /**
   * Whether it cannot be read, so that nothing else can be said about it.
   */
  readonly isUnreadable?: boolean;
  readonly warnings: readonly string[];
}

/**
 * Reads a result of A2A 1.0, which must be ProtoJSON with names in
 * lowerCamelCase, enums by name, and all required fields (section 5.5). Unknown
 * fields are allowed, because a later version may add some.
 */
export function readResult(method: DescMethod, result: JsonValue): ReadResult {
  const schema =
    method.methodKind === "unary" ? method.output : StreamResponseSchema;
  // JSON-RPC writes an empty result as null.
  if (result === null && schema.fields.length === 0) {
    return { json: result, warnings: [] };
  }
  const { json, problem, warnings } = withoutOldNames(result, schema);
  const read = readMessage(schema, json);
  return {
    ...read,
    warnings,
    ...defined({ problem: problem ?? read.problem }),
  };
}

/**
 * Describes what is wrong with the JSON of a message of A2A 1.0. Returns
 * undefined if it is valid.
 */
export function a2aJsonProblem(
  schema: DescMessage,
  json: JsonValue,
): string | undefined {
  return readMessage(schema, json).problem;
}

function readMessage(
  schema: DescMessage,
  json: JsonValue,
): Omit<ReadResult, "warnings"> {
  try {
    const message = decodeA2aJson(schema, json);
    const written = encodeA2aJson(schema, message);
    // Its own fields are in what was written, also those that are empty.
    const missing = missingFields(schema, message).find(({ field }) =>
      /[.[]/.test(field),
    );
    const problem =
      difference(written, json, schema.name) ??
      (missing && `${schema.name}.${missing.field} ${missing.description}`);
    return {
      json: merge(json, written),
      isUnreadable:
        missing !== undefined || problem?.endsWith(MISSING) === true,
      ...defined({ problem }),
    };
  } catch (reason) {
    const problem = `${schema.name} is not valid ProtoJSON: ${reason instanceof Error ? reason.message : String(reason)}`;
    return { json, problem, isUnreadable: true };
  }
}

const MISSING = " is missing";

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/**
 * Adds to a value what another one has at the same places, which wins.
 */
function merge(value: JsonValue | undefined, other: JsonValue): JsonValue {
  if (Array.isArray(other)) {
    const items = listOrEmpty(value);
    return other.map((item, index) => merge(items[index], item));
  }
  if (!isObject(other)) return other;
  const fields = { ...objectOrEmpty(value) };
  for (const [name, inner] of Object.entries(other)) {
    const { [snakeCase(name)]: misspelled, [name]: own = misspelled } = fields;
    delete fields[snakeCase(name)];
    // A list or message that is missing was only written because it must be.
    const isMissing =
      own === undefined &&
      Object.keys(Object(inner)).length === 0 &&
      typeof inner === "object";
    if (!isMissing) fields[name] = merge(own, inner);
  }
  return fields;
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
    return firstProblem(
      Object.entries(written).map(([name, value]) => {
        const snake = snakeCase(name);
        return fields[name] === undefined && fields[snake] !== undefined
          ? `${path}.${snake} must be written ${name}`
          : difference(value, fields[name], `${path}.${name}`);
      }),
    );
  }
  if (written === actual) return undefined;
  if (actual === undefined) return `${path}${MISSING}`;
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
