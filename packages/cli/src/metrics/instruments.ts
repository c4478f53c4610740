import { keepStart } from "@devtool/internal/cut-text";

/** The maximum number of different values of a label. */
const MAX_VALUES = 64;

/** The maximum length of the value of a label, in characters. */
const MAX_LENGTH = 80;

/** What values of a label are counted as that have no series of their own. */
export const OTHER = "_other";

/** The values of the labels of a series, in the order of their names. */
type Values = readonly string[];

/** What a metric is, in the terms of OpenTelemetry. */
export interface MetricAbout {
  /** Its name, such as `devtool.turns.active`. */
  readonly name: string;
  readonly help: string;
  /** Its unit: seconds, bytes, or `{token}` and the like for numbers of things. */
  readonly unit: "s" | "By" | "1" | `{${string}}`;
  /** The names of its labels. Default: none. */
  readonly labels?: readonly string[];
}

/** The labels of a series by name. A label without a value is left out. */
export type Labels = Readonly<Record<string, string>>;

/** How long things took, and how many took at most as long as each bound. */
interface Distribution {
  /** The numbers within the bounds, not added up; the last one is above all. */
  readonly buckets: readonly number[];
  readonly count: number;
  readonly sum: number;
}

/** A metric and its series, as they are at a moment. */
export type Metric = { readonly about: MetricAbout } & (
  | {
      readonly type: "counter" | "gauge";
      readonly series: readonly (readonly [Labels, number])[];
    }
  | {
      readonly type: "histogram";
      /** The upper bounds of the buckets, in order. */
      readonly bounds: readonly number[];
      readonly series: readonly (readonly [Labels, Distribution])[];
    }
);

/**
 * The series of a metric.
 *
 * Names of tools, agents and models come from outside, and each new one is a
 * series that is kept for ever: the number of values of a label is bounded.
 */
class Series<T> {
  readonly #names: readonly string[];
  readonly #known: readonly Set<string>[];
  readonly #series = new Map<string, readonly [Labels, T]>();
  readonly #create: () => T;

  constructor(names: readonly string[], create: () => T) {
    this.#names = names;
    this.#known = names.map(() => new Set());
    this.#create = create;
    // Without labels there is one series, which begins at 0.
    if (names.length === 0) this.of([]);
  }

  /** Returns what a series has, which begins if it has not. */
  of(values: Values): T {
    const known = this.#series.get(values.join("\n"));
    if (known) return known[1];
    const kept = this.#names.map((_name, index) =>
      this.#keptValue(index, values[index] ?? ""),
    );
    const key = kept.join("\n");
    const other = this.#series.get(key);
    if (other) return other[1];
    const labels = this.#names.flatMap((name, index) => {
      const value = kept[index] ?? "";
      return value === "" ? [] : [[name, value] as const];
    });
    const created = this.#create();
    this.#series.set(key, [Object.fromEntries(labels), created]);
    return created;
  }

  all(): (readonly [Labels, T])[] {
    return [...this.#series.values()];
  }

  #keptValue(index: number, text: string): string {
    const value = keepStart(text, MAX_LENGTH).toWellFormed();
    const known = this.#known[index] ?? new Set();
    const kept = known.has(value) || known.size < MAX_VALUES ? value : OTHER;
    known.add(kept);
    return kept;
  }
}

/** A number that only grows. */
export class Counter {
  readonly #about: MetricAbout;
  readonly #series: Series<{ total: number }>;

  constructor(about: MetricAbout) {
    this.#about = about;
    this.#series = new Series(about.labels ?? [], () => ({ total: 0 }));
  }

  add(amount: number, ...values: Values): void {
    this.#series.of(values).total += amount;
  }

  read(): Metric {
    const series = this.#series
      .all()
      .map(([labels, { total }]) => [labels, total] as const);
    return { about: this.#about, type: "counter", series };
  }
}

/** How long things took, in seconds. */
export class Histogram {
  readonly #about: MetricAbout;
  readonly #bounds: readonly number[];
  readonly #series: Series<{ buckets: number[]; count: number; sum: number }>;

  /** @param bounds the upper bounds of its buckets in seconds, in order */
  constructor(about: MetricAbout, bounds: readonly number[]) {
    this.#about = about;
    this.#bounds = bounds;
    this.#series = new Series(about.labels ?? [], () => ({
      buckets: Array(bounds.length + 1).fill(0),
      count: 0,
      sum: 0,
    }));
  }

  record(seconds: number, ...values: Values): void {
    const series = this.#series.of(values);
    series.count++;
    series.sum += seconds;
    const at = this.#bounds.findIndex((bound) => seconds <= bound);
    const bucket = at < 0 ? this.#bounds.length : at;
    series.buckets[bucket] = (series.buckets[bucket] ?? 0) + 1;
  }

  read(): Metric {
    const series = this.#series.all();
    const bounds = this.#bounds;
    return { about: this.#about, type: "histogram", bounds, series };
  }
}

/** Returns a metric of numbers that are read when they are asked for. */
export function gauge(
  about: MetricAbout,
  ...series: readonly (readonly [Labels, number])[]
): Metric {
  return { about, type: "gauge", series };
}
