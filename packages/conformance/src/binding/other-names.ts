import type { DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject, objectOrEmpty } from "@devtool/internal/json";
import { ELEMENTS } from "./stream-end.ts";

/**
 * A result without the names of the other version of A2A.
 */
export interface RenamedResult {
  readonly json: JsonValue;
  /**
   * The first name that a client of this version does not understand.
   */
  readonly problem?: string;
  /**
   * Names that a client of this version ignores.
   */
  readonly warnings: readonly string[];
}

/**
 * Replaces the names of A2A 0.3 in a result of A2A 1.0. One that `schema` has in
 * a field, such as `task`, was told apart by `kind` in 0.3.
 */
export function withoutOldNames(
  result: JsonValue,
  schema: DescMessage,
): RenamedResult {
  const { kind } = objectOrEmpty(result);
  const isInField = schema.fields.some(({ jsonName }) => jsonName === "task");
  const field = isInField ? ELEMENTS.get(kind) : undefined;
  const problems =
    field === undefined
      ? []
      : [
          `a result of A2A 1.0 is in the field "${field}": got "kind": "${kind}", as in A2A 0.3`,
        ];
  const warnings: string[] = [];
  const json = renamed(result, "result", (name, value, path) => {
    if (OLD_FIELDS.has(name)) {
      warnings.push(
        `${path} is left over from A2A 0.3, and 1.0 has no "${name}": leave it out`,
      );
    }
    if (value === null) warnings.push(`${path} is null: leave it out`);
    const prefix = PREFIXES.get(name);
    const isOld =
      prefix !== undefined && /^[a-z]+(?:-required)?$/.test(String(value));
    if (!isOld) return { name, value };
    const word = `${prefix}${String(value).replace("-", "_").toUpperCase()}`;
    problems.push(`${path} must be "${word}": got "${value}", as in A2A 0.3`);
    return { name, value: word };
  });
  const [problem] = problems;
  const whole = field === undefined ? json : { [field]: json };
  return problem === undefined
    ? { json: whole, warnings }
    : { json: whole, warnings, problem };
}

/**
 * Replaces the names of A2A 1.0, and names in snake_case, in a result of A2A
 * 0.3.
 */
export function withoutNewNames(result: JsonValue): RenamedResult {
  const problems: string[] = [];
  const whole = unwrapped(result, problems);
  const json = renamed(whole, "result", (name, value, path) => {
    const camel = SNAKE_NAMES.get(name);
    if (camel !== undefined) problems.push(`${path} must be written ${camel}`);
    const prefix = PREFIXES.get(name);
    const isNew = prefix !== undefined && String(value).startsWith(prefix);
    if (!isNew) return { name: camel ?? name, value };
    const word = String(value)
      .slice(prefix.length)
      .toLowerCase()
      .replace("_", "-");
    problems.push(`${path} must be "${word}": got "${value}", as in A2A 1.0`);
    return { name, value: word };
  });
  const [problem] = problems;
  return problem === undefined
    ? { json, warnings: [] }
    : { json, warnings: [], problem };
}

function unwrapped(result: JsonValue, problems: string[]): JsonValue {
  const [[field, inner] = [], ...others] = Object.entries(
    objectOrEmpty(result),
  );
  const [kind] = [...ELEMENTS].find(([, name]) => name === field) ?? [];
  if (typeof kind !== "string" || others.length > 0 || !isObject(inner)) {
    return result;
  }
  problems.push(
    `a result of A2A 0.3 has "kind": "${kind}": got the field "${field}" of A2A 1.0`,
  );
  return { kind, ...inner };
}

const OLD_FIELDS: ReadonlySet<string> = new Set(["kind", "final"]);

/**
 * What the words of A2A 1.0 begin with, by the fields that they are in.
 */
const PREFIXES: ReadonlyMap<string, string> = new Map([
  ["state", "TASK_STATE_"],
  ["role", "ROLE_"],
]);

const SNAKE_NAMES: ReadonlyMap<string, string> = new Map(
  [
    "artifactId",
    "contextId",
    "lastChunk",
    "messageId",
    "mimeType",
    "referenceTaskIds",
    "taskId",
  ].map((name) => [
    name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    name,
  ]),
);

type Rename = (
  name: string,
  value: JsonValue,
  path: string,
) => { readonly name: string; readonly value: JsonValue };

/**
 * Returns a copy of a value with each field renamed, but those that an agent
 * may name as it likes.
 */
function renamed(value: JsonValue, path: string, rename: Rename): JsonValue {
  if (Array.isArray(value)) {
    return value.map((item, index) =>
      renamed(item, `${path}[${index}]`, rename),
    );
  }
  if (!isObject(value)) return value;
  const fields: JsonObject = {};
  for (const [key, inner] of Object.entries(value)) {
    const at = `${path}.${key}`;
    const isOwn = key === "metadata" || key === "data";
    const field = isOwn ? { name: key, value: inner } : rename(key, inner, at);
    fields[field.name] = isOwn ? inner : renamed(field.value, at, rename);
  }
  return fields;
}
