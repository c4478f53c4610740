import type { JsonSchemaType, JsonSchemaValidator, jsonSchemaValidator } from "@modelcontextprotocol/client";
import { schemaCost, valueSize } from "./schema-cost.ts";

/** The maximum number of steps of a check, about a second; a value whose check could take more is taken as it is. */
const MAX_STEPS = 1_000_000;

/**
 * Checks values against schemas that a server sent, so both may be hostile. The schema is walked, never compiled to
 * code; what could hold up the whole process is left out: regular expressions, comparing all items with all others, and
 * the checks that would take too many steps.
 */
export async function createSafeValidator(): Promise<jsonSchemaValidator> {
  const { CfWorkerJsonSchemaValidator } = await import("@modelcontextprotocol/client/validators/cf-worker");
  const validator = new CfWorkerJsonSchemaValidator();
  return {
    getValidator: <T>(schema: JsonSchemaType): JsonSchemaValidator<T> => {
      const safe = withoutTraps(schema);
      const cost = schemaCost(safe);
      const check = validator.getValidator<T>(safe);
      const accept = validator.getValidator<T>({});
      return (value) => (cost * valueSize(value) > MAX_STEPS ? accept(value) : check(value));
    },
  };
}

const TRAPS: ReadonlySet<string> = new Set(["pattern", "patternProperties", "format", "uniqueItems"]);
/** Below these keywords stand names of properties, which may read like keywords. */
const NAMES: ReadonlySet<string> = new Set(["properties", "$defs", "definitions", "dependentSchemas"]);
/** Below these stand values, not schemas. */
const VALUES: ReadonlySet<string> = new Set(["enum", "const", "default", "examples"]);

function withoutTraps(schema: JsonSchemaType): JsonSchemaType {
  return JSON.parse(JSON.stringify(stripped(schema, "schema")));
}

function stripped(value: unknown, kind: "schema" | "names"): unknown {
  if (Array.isArray(value)) return value.map((item) => stripped(item, "schema"));
  if (typeof value !== "object" || value === null) return value;
  const entries: [string, unknown][] = Object.entries(value);
  if (kind === "names") return Object.fromEntries(entries.map(([name, below]) => [name, stripped(below, "schema")]));
  const kept = entries.filter(([keyword]) => !TRAPS.has(keyword));
  return Object.fromEntries(
    kept.map(([keyword, below]) => [
      keyword,
      VALUES.has(keyword) ? below : stripped(below, NAMES.has(keyword) ? "names" : "schema"),
    ]),
  );
}
