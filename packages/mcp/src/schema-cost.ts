/**
 * How many steps a walk of a schema takes at most for one value, its references followed; infinite for a schema that
 * comes back to itself or refers to what is not in it. Few lines of references that double can stand for 2^40 steps.
 */
export function schemaCost(schema: object): number {
  const known = new Map<object, number>();
  const cost = (node: unknown): number => {
    if (typeof node !== "object" || node === null) return 1;
    const before = known.get(node);
    if (before !== undefined) return before;
    // Whoever comes here again before the sum is known went in a circle.
    known.set(node, Number.POSITIVE_INFINITY);
    const below = Object.values(node).reduce((sum: number, child: unknown) => sum + cost(child), 1);
    const total = below + ("$ref" in node ? cost(referred(schema, node.$ref)) : 0) + unknownReference(node);
    known.set(node, total);
    return total;
  };
  return cost(schema);
}

/** How many values a value holds, itself included. */
export function valueSize(value: unknown): number {
  let size = 0;
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    size++;
    if (typeof next === "object" && next !== null) for (const below of Object.values(next)) open.push(below);
  }
  return size;
}

const UNKNOWN_REFERENCES = ["$dynamicRef", "$recursiveRef", "$id", "$anchor", "$dynamicAnchor"] as const;

function unknownReference(node: object): number {
  return UNKNOWN_REFERENCES.some((keyword) => keyword in node) ? Number.POSITIVE_INFINITY : 0;
}

/** What a reference within the schema refers to; the schema itself, and so a circle, for any other. */
function referred(schema: object, reference: unknown): unknown {
  if (typeof reference !== "string" || !reference.startsWith("#/")) return schema;
  const way = decodeURIComponent(reference.slice(2)).split("/");
  return way.reduce((node: unknown, name) => memberOf(node, name.replaceAll("~1", "/").replaceAll("~0", "~")), schema);
}

function memberOf(node: unknown, name: string): unknown {
  if (typeof node !== "object" || node === null) return undefined;
  return Object.entries(node).find(([key]) => key === name)?.[1];
}
