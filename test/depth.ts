/**
 * How thorough a test run is: `quick` is `pnpm test`, `ci` is `.ci/run`, `deep`
 * is `pnpm test:deep`.
 */
export type Depth = "quick" | "ci" | "deep";

const DEPTHS: readonly string[] = ["quick", "ci", "deep"] satisfies Depth[];

/** The depth of this run: `DEVTOOL_DEPTH`, default `quick`. */
export const DEPTH: Depth = readDepth(process.env.DEVTOOL_DEPTH ?? "quick");

/**
 * Appended to the name of a test that a quick run leaves out: why it is
 * skipped. Empty in other runs.
 */
export const LEFT_TO_CI: string =
  DEPTH === "quick" ? " (skipped: .ci/run plays it)" : "";

/**
 * Appended to the name of a test that only the deep tier plays: why it is
 * skipped. Empty in that tier.
 */
export const LEFT_TO_DEEP: string =
  DEPTH === "deep" ? "" : " (skipped: pnpm test:deep plays it)";

/**
 * How many rounds a test plays at each depth. The environment variable that is
 * named sets another number.
 */
export function roundsOf(
  variable: string,
  rounds: Readonly<Record<Depth, number>>,
): number {
  const set = process.env[variable];
  if (set === undefined) return rounds[DEPTH];
  const number = Number(set);
  if (!Number.isSafeInteger(number) || number < 1) {
    throw new Error(`${variable} is "${set}": give a whole number from 1`);
  }
  return number;
}

/**
 * Some of the variants of a test, evenly spread, and a line that says so: at
 * most `quick` of them in a quick run, and at most `ci` in CI (default: all),
 * which begin at one that the seed draws. The deep tier plays all.
 */
export function variantsOf<T>(
  what: string,
  all: readonly T[],
  quick: number,
  ci: number = all.length,
): readonly T[] {
  const most = { quick, ci, deep: all.length }[DEPTH];
  if (all.length <= most) return all;
  const step = Math.ceil(all.length / most);
  const offset = DEPTH === "quick" ? 0 : seedOf() % step;
  const played = all.filter((_one, index) => index % step === offset);
  const others = ci < all.length ? "pnpm test:deep" : ".ci/run";
  console.info(
    `this ${DEPTH} run plays ${played.length} of ${all.length} ${what}: ${others} plays all`,
  );
  return played;
}

/**
 * The elements from an index on, and then those before it. Lists of variants
 * that are rotated by different numbers have `variantsOf` choose different
 * ones.
 */
export function rotate<T>(all: readonly T[], by: number): readonly T[] {
  const start = by % all.length;
  return [...all.slice(start), ...all.slice(0, start)];
}

/**
 * The seed of what a test draws, which is printed: `DEVTOOL_SEED`, default 7.
 * `test:deep` and each night's run set a fresh one.
 */
export function seedOf(): number {
  const seed = Number(process.env.DEVTOOL_SEED ?? "7");
  console.info(
    `drawn from the seed ${seed}: DEVTOOL_SEED=${seed} plays it again`,
  );
  return seed;
}

function readDepth(text: string): Depth {
  if (isDepth(text)) return text;
  throw new Error(
    `DEVTOOL_DEPTH is "${text}": give one of ${DEPTHS.join(", ")}`,
  );
}

function isDepth(text: string): text is Depth {
  return DEPTHS.includes(text);
}
