import type { Labels, Metric, MetricAbout } from "./instruments.ts";

/** What Prometheus writes at the end of a name for a unit. */
const UNIT_SUFFIXES: Readonly<Record<string, string>> = {
  s: "_seconds",
  By: "_bytes",
};

/**
 * Writes a metric in the text format of Prometheus, by the names that it gives
 * to OpenTelemetry's.
 */
export function metricText(metric: Metric): string {
  const { about, type } = metric;
  const name = nameOf(about, type);
  const lines =
    metric.type === "histogram"
      ? histogramLines(name, metric)
      : metric.series.map(([labels, value]) => line(name, labels, value));
  return `# HELP ${name} ${about.help}\n# TYPE ${name} ${type}\n${lines.join("")}`;
}

function nameOf({ name, unit }: MetricAbout, type: Metric["type"]): string {
  const suffix = UNIT_SUFFIXES[unit] ?? "";
  const total = type === "counter" ? "_total" : "";
  return `${plainName(name)}${suffix}${total}`;
}

function histogramLines(
  name: string,
  { bounds, series }: Extract<Metric, { type: "histogram" }>,
): string[] {
  return series.flatMap(([labels, { buckets, count, sum }]) => {
    let below = 0;
    const upTo = bounds.map((bound, index) => {
      below += buckets[index] ?? 0;
      return line(`${name}_bucket`, { ...labels, le: String(bound) }, below);
    });
    return [
      ...upTo,
      line(`${name}_bucket`, { ...labels, le: "+Inf" }, count),
      line(`${name}_sum`, labels, sum),
      line(`${name}_count`, labels, count),
    ];
  });
}

function line(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(
    ([label, text]) => `${plainName(label)}="${escaped(text)}"`,
  );
  const written = pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
  return `${name}${written} ${value}\n`;
}

function plainName(name: string): string {
  return name.replaceAll(".", "_");
}

/** Returns the value of a label without what would end it. */
function escaped(value: string): string {
  return value.replaceAll(/["\\]|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (char) => {
    if (char === '"' || char === "\\") return `\\${char}`;
    return `\\\\u{${char.codePointAt(0)?.toString(16)}}`;
  });
}
