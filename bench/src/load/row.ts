/** A figure with the bound that it must keep. */
export interface Row {
  readonly name: string;
  readonly value: number;
  /** At most this, or at least. */
  readonly target: { readonly atMost: number } | { readonly atLeast: number };
}

/**
 * Prints `name value target PASS|FAIL`, and makes the process fail with the
 * first row that does.
 */
export function printRow({ name, value, target }: Row): void {
  const passes =
    "atMost" in target ? value <= target.atMost : value >= target.atLeast;
  const bound =
    "atMost" in target ? `<=${target.atMost}` : `>=${target.atLeast}`;
  console.log(
    `${name} ${Number(value.toPrecision(4))} ${bound} ${passes ? "PASS" : "FAIL"}`,
  );
  if (!passes) process.exitCode = 1;
}

/** The value in the middle. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The value that the given share of values does not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  return (
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ??
    Number.NaN
  );
}

/**
 * The number that the option `--NAME=NUMBER` of this run gives, or else
 * another.
 */
export function numberNamed(name: string, otherwise: number): number {
  const option = process.argv.find((arg) => arg.startsWith(`--${name}=`));
  return option === undefined
    ? otherwise
    : Number(option.slice(name.length + 3));
}
