import type { JsonSchemaType, jsonSchemaValidator } from "@modelcontextprotocol/client";

/**
 * Checks values against schemas that a server sent, so both may be hostile. The schema is walked, never compiled to
 * code, and its regular expressions are left out: one of them and a fitting text could hold up the whole process.
 */
export async function createSafeValidator(): Promise<jsonSchemaValidator> {
  const { CfWorkerJsonSchemaValidator } = await import("@modelcontextprotocol/client/validators/cf-worker");
  const validator = new CfWorkerJsonSchemaValidator();
  return { getValidator: (schema) => validator.getValidator(withoutPatterns(schema)) };
}

const PATTERNS: ReadonlySet<string> = new Set(["pattern", "patternProperties", "format"]);
/** Below these keywords stand names of properties, which may read like keywords. */
const NAMES: ReadonlySet<string> = new Set(["properties", "$defs", "definitions", "dependentSchemas"]);
/** Below these stand values, not schemas. */
const VALUES: ReadonlySet<string> = new Set(["enum", "const", "default", "examples"]);

function withoutPatterns(schema: JsonSchemaType): JsonSchemaType {
  return JSON.parse(JSON.stringify(stripped(schema, "schema")));
}

function stripped(value: unknown, kind: "schema" | "names"): unknown {
  if (Array.isArray(value)) return value.map((item) => stripped(item, "schema"));
  if (typeof value !== "object" || value === null) return value;
  const entries: [string, unknown][] = Object.entries(value);
  if (kind === "names") return Object.fromEntries(entries.map(([name, below]) => [name, stripped(below, "schema")]));
  const kept = entries.filter(([keyword]) => !PATTERNS.has(keyword));
  return Object.fromEntries(
    kept.map(([keyword, below]) => [
      keyword,
      VALUES.has(keyword) ? below : stripped(below, NAMES.has(keyword) ? "names" : "schema"),
    ]),
  );
}
