import type {
  JsonSchemaType,
  JsonSchemaValidator,
  jsonSchemaValidator,
} from "@modelcontextprotocol/client";
import { schemaCost, valueSize } from "./schema-cost.ts";

/**
 * The maximum number of steps of a check, about a second. A value whose check
 * could take more is accepted unchecked.
 */
const MAX_STEPS = 1_000_000;

/**
 * Creates a validator for schemas that a server sent. Schema and value may both
 * be hostile.
 *
 * Schemas are interpreted, never compiled to code. Checks that could block the
 * process are omitted: regular expressions, comparisons of all items with each
 * other, and checks that would take too many steps.
 */
export async function createSafeValidator(): Promise<jsonSchemaValidator> {
  const { CfWorkerJsonSchemaValidator } = await import(
    "@modelcontextprotocol/client/validators/cf-worker"
  );
  const validator = new CfWorkerJsonSchemaValidator();
  return {
    getValidator: <T>(schema: JsonSchemaType): JsonSchemaValidator<T> => {
      const safe: JsonSchemaType = JSON.parse(
        JSON.stringify(withoutTraps(schema, "schema")),
      );
      const cost = schemaCost(safe);
      const check = validator.getValidator<T>(safe);
      const accept = validator.getValidator<T>({});
      return (value) =>
        cost * valueSize(value) > MAX_STEPS ? accept(value) : check(value);
    },
  };
}

/** The keywords whose check can block the process. */
const TRAPS: ReadonlySet<string> = new Set([
  "pattern",
  "patternProperties",
  "format",
  "uniqueItems",
]);
/**
 * Keywords whose value is an object of schemas by name. The names may look like
 * keywords.
 */
const NAMES: ReadonlySet<string> = new Set([
  "properties",
  "$defs",
  "definitions",
  "dependentSchemas",
]);
/** Keywords whose value is not a schema. */
const VALUES: ReadonlySet<string> = new Set([
  "enum",
  "const",
  "default",
  "examples",
]);

/** Returns a copy without the keywords that can block the process. */
function withoutTraps(value: unknown, kind: "schema" | "names"): unknown {
  if (Array.isArray(value)) {
    return value.map((item) => withoutTraps(item, "schema"));
  }
  if (typeof value !== "object" || value === null) return value;
  const entries: [string, unknown][] = Object.entries(value);
  if (kind === "names") {
    return Object.fromEntries(
      entries.map(([name, below]) => [name, withoutTraps(below, "schema")]),
    );
  }
  const kept = entries.filter(([keyword]) => !TRAPS.has(keyword));
  return Object.fromEntries(
    kept.map(([keyword, below]) => [
      keyword,
      VALUES.has(keyword)
        ? below
        : withoutTraps(below, NAMES.has(keyword) ? "names" : "schema"),
    ]),
  );
}
