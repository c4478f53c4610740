import { median } from "../load/row.ts";

/** A row may take this many times as much as at the base. */
export const ALLOWED = 1.1;

/** The result of a row: ratios of now to base, one for each round. */
export interface Verdict {
  readonly ratio: number;
  /** The median of all such rounds is between these in 19 of 20 runs. */
  readonly low: number;
  readonly high: number;
  readonly result: "ok" | "slower" | "not decided: too noisy";
}

/**
 * Judges a row by its rounds. The interval is that of the sign test, which
 * needs no assumption about the noise: below six rounds it has no bounds.
 */
export function judge(ratios: readonly number[], allowed: number): Verdict {
  const sorted = [...ratios].sort((one, other) => one - other);
  const cut = roundsBeyond(sorted.length);
  const low = sorted[cut] ?? 0;
  const high = sorted[sorted.length - 1 - cut] ?? Infinity;
  const decided = low > allowed ? "slower" : high <= allowed ? "ok" : undefined;
  return {
    ratio: median(sorted),
    low,
    high,
    result: decided ?? "not decided: too noisy",
  };
}

/**
 * How many of the lowest, and of the highest, values lie outside of the
 * interval: as many as fall on one side of the median in at most one of 40
 * runs. -1 where no value may.
 */
function roundsBeyond(rounds: number): number {
  let chance = 0.5 ** rounds;
  let below = chance;
  let beyond = -1;
  while (below <= 1 / 40) {
    beyond++;
    chance *= (rounds - beyond) / (beyond + 1);
    below += chance;
  }
  return beyond;
}

/**
 * The ratio that each row may have: what the lines of bench/prices.md allow
 * that the base does not have. Rows without a line may have `ALLOWED`.
 *
 * @throws TypeError for a line whose ratio is not a number above 1
 */
export function allowedRatios(
  now: string,
  base: string,
): ReadonlyMap<string, number> {
  const paid = new Set(base.split("\n"));
  const allowed = new Map<string, number>();
  for (const line of now.split("\n")) {
    const [, row, ratio] = /^\| `([^`]+)` *\| *([^ |]+) *\|/.exec(line) ?? [];
    if (row === undefined || paid.has(line)) continue;
    if (!(Number(ratio) > 1)) {
      throw new TypeError(
        `ratio "${ratio}" of row "${row}" in bench/prices.md is not a number above 1`,
      );
    }
    allowed.set(row, (allowed.get(row) ?? 1) * Number(ratio));
  }
  return allowed;
}
