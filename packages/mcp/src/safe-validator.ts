import type {
  JsonSchemaType,
  JsonSchemaValidator,
  jsonSchemaValidator,
} from "@modelcontextprotocol/client";

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
      return (value) => {
        const size = valueSize(value);
        if (cost * size <= MAX_STEPS) return check(value);
        const unrolled = unroll(safe, valueDepth(value) + 1);
        return schemaCost(unrolled) * size <= MAX_STEPS
          ? validator.getValidator<T>(unrolled)(value)
          : accept(value);
      };
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

/** Keywords that refer to other schemas in ways that are not followed here. */
const UNKNOWN_REFERENCES = [
  "$dynamicRef",
  "$recursiveRef",
  "$id",
  "$anchor",
  "$dynamicAnchor",
] as const;

/**
 * Returns the maximum number of steps that validating one value takes, with all
 * references followed.
 *
 * Infinite for a schema that refers to itself or to something outside of it. A
 * few lines of references that double can stand for 2^40 steps.
 */
function schemaCost(schema: object): number {
  const known = new Map<object, number>();
  const cost = (node: unknown): number => {
    if (typeof node !== "object" || node === null) return 1;
    const before = known.get(node);
    if (before !== undefined) return before;
    // A node that is reached again before its cost is known refers to itself.
    known.set(node, Number.POSITIVE_INFINITY);
    const below = Object.values(node).reduce(
      (sum: number, child: unknown) => sum + cost(child),
      1,
    );
    const referred =
      "$ref" in node ? cost(resolveReference(schema, node.$ref)) : 0;
    const isKnown = !UNKNOWN_REFERENCES.some((keyword) => keyword in node);
    const total = isKnown ? below + referred : Number.POSITIVE_INFINITY;
    known.set(node, total);
    return total;
  };
  return cost(schema);
}

/** The maximum number of copies of a schema that refers to itself. */
const MAX_COPIES = 20;

/**
 * Returns a schema without references to itself, for values of a depth: each
 * reference leads to the next copy of the schema, and the last ones accept any
 * value.
 */
function unroll(schema: JsonSchemaType, depth: number): JsonSchemaType {
  const copies = Math.min(depth, MAX_COPIES);
  const copy = (level: number): JsonSchemaType =>
    JSON.parse(
      JSON.stringify(schema, (key, value) => {
        if (key !== "$ref" || typeof value !== "string") return value;
        const next = `#/$defs/${level + 1}${value.replace(/^#/, "")}`;
        return level < copies ? next : "#/$defs/any";
      }),
    );
  const levels = Array.from({ length: copies }, (_none, at) => at + 1);
  return {
    ...copy(0),
    $defs: {
      any: {},
      ...Object.fromEntries(levels.map((level) => [level, copy(level)])),
    },
  };
}

/** Returns how deep a value nests; 1 for one without others in it. */
function valueDepth(value: unknown): number {
  let level: unknown[] = [value];
  let depth = 0;
  for (; level.length > 0; depth++) {
    level = level.flatMap((item) =>
      typeof item === "object" && item !== null ? Object.values(item) : [],
    );
  }
  return depth;
}

/** Returns the number of values in a value, including itself. */
function valueSize(value: unknown): number {
  let size = 0;
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    size++;
    if (typeof next === "object" && next !== null) {
      for (const below of Object.values(next)) open.push(below);
    }
  }
  return size;
}

/**
 * Resolves a JSON pointer within the schema. Any other reference resolves to
 * the schema itself, and so to an infinite cost.
 */
function resolveReference(schema: object, reference: unknown): unknown {
  if (typeof reference !== "string" || !reference.startsWith("#/")) {
    return schema;
  }
  let node: unknown = schema;
  for (const segment of decodeURIComponent(reference.slice(2)).split("/")) {
    const name = segment.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof node !== "object" || node === null) return undefined;
    node = Object.entries(node).find(([key]) => key === name)?.[1];
  }
  return node;
}
