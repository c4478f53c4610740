import fc from "fast-check";

/** A copy of a value in which one place is odd. */
export interface Mutant {
  readonly value: unknown;
  /** Where it is odd. */
  readonly path: readonly string[];
  /** What was done there, in a word or as JSON. */
  readonly change: string;
}

/** Stands for JSON that `JSON.stringify` cannot write. */
const raw = (text: string): string => `@@${text}@@`;

/** Values that may stand anywhere in a message. */
const ODD_VALUES: readonly unknown[] = [
  null,
  true,
  5,
  -1,
  "",
  "x",
  "hologram",
  [],
  {},
  [null],
  [{}],
  { a: null },
  "\ud800",
  "a\udc00b",
  raw("9007199254740993"),
  raw("1e400"),
  raw("DEEP"),
];

const DEPTH = 12_000;
const DEEP = `${'{"a":'.repeat(DEPTH)}1${"}".repeat(DEPTH)}`;

/** Returns a message as text, with what stands for JSON in place. */
export function write(message: unknown): string {
  return JSON.stringify(message).replaceAll(
    /"@@((?!ID@@|TOKEN@@).*?)@@"/g,
    (_all, text: string) => (text === "DEEP" ? DEEP : text),
  );
}

/** Returns the paths of all values in a value, without its own. */
function pathsIn(value: unknown): string[][] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, below]) => [
    [key],
    ...pathsIn(below).map((path) => [key, ...path]),
  ]);
}

/** What is done to a value: replaced by another, or one of these. */
type Change = { readonly by: unknown } | "remove" | "wrap" | "twice";

const CHANGES: readonly Change[] = [
  ...ODD_VALUES.map((by) => ({ by })),
  "remove",
  "wrap",
  "twice",
];

function changed(value: unknown, path: readonly string[], to: Change): unknown {
  const [key = "", ...rest] = path;
  const copy: unknown = Array.isArray(value)
    ? [...value]
    : { ...Object(value) };
  const here: unknown = Reflect.get(Object(copy), key);
  const at = Number(key);
  if (rest.length > 0) {
    Reflect.set(Object(copy), key, changed(here, rest, to));
  } else if (to === "remove") {
    if (!Array.isArray(copy)) Reflect.deleteProperty(Object(copy), key);
    if (Array.isArray(copy)) copy.splice(at, 1);
  } else if (to === "twice" && Array.isArray(copy)) {
    copy.splice(at, 0, here);
  } else {
    const by = to === "wrap" || to === "twice" ? [here] : to.by;
    Reflect.set(Object(copy), key, by);
  }
  return copy;
}

/** Draws copies of one of the values, each with one odd place. */
export function mutantsOf(...bases: readonly object[]): fc.Arbitrary<Mutant> {
  const places = bases.flatMap((base) =>
    pathsIn(base).map((path) => ({ base, path })),
  );
  return fc
    .tuple(fc.constantFrom(...places), fc.constantFrom(...CHANGES))
    .map(([{ base, path }, to]) => ({
      value: changed(base, path, to),
      path,
      change: typeof to === "string" ? to : JSON.stringify(to.by),
    }));
}
