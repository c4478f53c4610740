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
export function schemaCost(schema: object): number {
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

/** Returns the number of values in a value, including itself. */
export function valueSize(value: unknown): number {
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
