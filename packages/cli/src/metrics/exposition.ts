import { keepStart } from "@devtool/internal/cut-text";

/** The maximum number of different values of a label. */
const MAX_VALUES = 64;

/** The maximum length of the value of a label, in characters. */
const MAX_LENGTH = 80;

/** What further values of a label are counted as. */
const OTHER = "other";

/** The values of the labels of a series, in the order of their names. */
type Values = readonly string[];

/** How a metric is described. */
export interface MetricOptions {
  /** Its name in the format of Prometheus. */
  readonly name: string;
  readonly help: string;
  /** The names of its labels. Default: none. */
  readonly labels?: readonly string[];
}

/**
 * The values that labels may have: names of tools, agents and models come from
 * outside, and each new one is a series that is kept for ever.
 */
class LabelValues {
  readonly #known: ReadonlyMap<string, Set<string>>;

  constructor(names: readonly string[]) {
    this.#known = new Map(names.map((name) => [name, new Set<string>()]));
  }

  /** Returns the key of a series, as the format has it: `{name="value"}`. */
  keyOf(values: Values): string {
    const pairs = [...this.#known].map(([name, known], index) => {
      const value = keepStart(values[index] ?? "", MAX_LENGTH).toWellFormed();
      const kept = known.has(value) || known.size < MAX_VALUES ? value : OTHER;
      known.add(kept);
      return `${name}="${escaped(kept)}"`;
    });
    return pairs.join(",");
  }
}

/** A number that only grows. */
export class Counter {
  readonly #options: MetricOptions;
  readonly #labels: LabelValues;
  readonly #series = new Map<string, number>();

  constructor(options: MetricOptions) {
    this.#options = options;
    this.#labels = new LabelValues(options.labels ?? []);
    // Without labels there is one series, which begins at 0.
    if (!options.labels) this.#series.set("", 0);
  }

  add(...values: Values): void {
    const key = this.#labels.keyOf(values);
    this.#series.set(key, (this.#series.get(key) ?? 0) + 1);
  }

  text(): string {
    const { name } = this.#options;
    const lines = [...this.#series].map(([key, count]) =>
      line(name, key, count),
    );
    return metricText(this.#options, "counter", lines);
  }
}

/** Returns the text of a number that is read when it is asked for. */
export function gaugeText(options: MetricOptions, value: number): string {
  return metricText(options, "gauge", [line(options.name, "", value)]);
}

interface Observed {
  readonly buckets: number[];
  count: number;
  sum: number;
}

/** How long things took, in seconds. */
export class Histogram {
  readonly #options: MetricOptions;
  readonly #bounds: readonly number[];
  readonly #labels: LabelValues;
  readonly #series = new Map<string, Observed>();

  /** @param bounds the upper bounds of its buckets in seconds, in order */
  constructor(options: MetricOptions, bounds: readonly number[]) {
    this.#options = options;
    this.#bounds = bounds;
    this.#labels = new LabelValues(options.labels ?? []);
    if (!options.labels) this.#series.set("", this.#empty());
  }

  record(seconds: number, ...values: Values): void {
    const key = this.#labels.keyOf(values);
    const series = this.#series.get(key) ?? this.#empty();
    this.#series.set(key, series);
    series.count++;
    series.sum += seconds;
    const at = this.#bounds.findIndex((bound) => seconds <= bound);
    if (at >= 0) series.buckets[at] = (series.buckets[at] ?? 0) + 1;
  }

  text(): string {
    const { name } = this.#options;
    const lines = [...this.#series].flatMap(
      ([key, { buckets, count, sum }]) => {
        const labels = key === "" ? "" : `${key},`;
        let below = 0;
        const upTo = this.#bounds.map((bound, index) => {
          below += buckets[index] ?? 0;
          return line(`${name}_bucket`, `${labels}le="${bound}"`, below);
        });
        return [
          ...upTo,
          line(`${name}_bucket`, `${labels}le="+Inf"`, count),
          line(`${name}_sum`, key, sum),
          line(`${name}_count`, key, count),
        ];
      },
    );
    return metricText(this.#options, "histogram", lines);
  }

  #empty(): Observed {
    return { buckets: this.#bounds.map(() => 0), count: 0, sum: 0 };
  }
}

function line(name: string, labels: string, value: number): string {
  return `${name}${labels === "" ? "" : `{${labels}}`} ${value}\n`;
}

function metricText(
  { name, help }: MetricOptions,
  type: "counter" | "gauge" | "histogram",
  lines: readonly string[],
): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join("")}`;
}

/** Returns the value of a label without what would end it. */
function escaped(value: string): string {
  return value.replaceAll(/["\\]|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (char) => {
    if (char === '"' || char === "\\") return `\\${char}`;
    return `\\\\u{${char.codePointAt(0)?.toString(16)}}`;
  });
}
