import { type Attributes, type HrTime, ValueType } from "@opentelemetry/api";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  MeterProvider,
  type MetricData,
  type MetricProducer,
  PeriodicExportingMetricReader,
  type PushMetricExporter,
} from "@opentelemetry/sdk-metrics";
import type { Labels, Metric } from "../metrics/instruments.ts";
import { CollectorFaults } from "./collector-faults.ts";
import { REQUEST_MS, SUCCESS, withinFlushTime } from "./export-limits.ts";
import { serverResource } from "./server-resource.ts";

/** Options of `exportMetrics`. */
interface MetricExportOptions {
  /** The URL to which metrics are posted. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The time between posts in milliseconds. */
  readonly intervalMs: number;
  /** Returns the metrics as they are now. */
  readonly read: () => Promise<readonly Metric[]>;
  /** Receives a text when the collector is away, and when it is back. */
  readonly onNotice: (text: string) => void;
}

/** Sends metrics to a collector, from time to time and at the end. */
export function exportMetrics(options: MetricExportOptions): AsyncDisposable {
  const { url, headers, intervalMs, read, onNotice } = options;
  const faults = new CollectorFaults(url, "metrics", onNotice);
  const exporter = new OTLPMetricExporter({
    url,
    headers: { ...headers },
    timeoutMillis: Math.min(REQUEST_MS, intervalMs),
  });
  const provider = new MeterProvider({
    resource: serverResource(),
    readers: [
      new PeriodicExportingMetricReader({
        exporter: reporting(exporter, faults),
        exportIntervalMillis: intervalMs,
        exportTimeoutMillis: Math.min(REQUEST_MS, intervalMs),
        metricProducers: [producerOf(read)],
      }),
    ],
  });
  return {
    async [Symbol.asyncDispose]() {
      await withinFlushTime(provider.shutdown());
      faults.close();
    },
  };
}

/** Returns what the SDK collects: our metrics, which are recorded already. */
function producerOf(read: MetricExportOptions["read"]): MetricProducer {
  const startTime = timeOf(Date.now());
  const resource = serverResource();
  return {
    async collect() {
      const metrics = await read();
      const times = { startTime, endTime: timeOf(Date.now()) };
      const scope = { name: "@devtool/cli" };
      const data = metrics.map((metric) => dataOf(metric, times));
      const scopeMetrics = [{ scope, metrics: data }];
      return { resourceMetrics: { resource, scopeMetrics }, errors: [] };
    },
  };
}

type Times = Pick<DataPoint<number>, "startTime" | "endTime">;

function dataOf(metric: Metric, times: Times): MetricData {
  const { name, help, unit } = metric.about;
  const base = {
    descriptor: {
      ...{ name, description: help, unit },
      valueType: ValueType.DOUBLE,
    },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  const pointOf = <T>(labels: Labels, value: T): DataPoint<T> => ({
    ...times,
    attributes: { ...constantsOf(name), ...labels },
    value,
  });
  if (metric.type === "histogram") {
    const dataPoints = metric.series.map(
      ([labels, { buckets, count, sum }]) => {
        const [boundaries, counts] = [[...metric.bounds], [...buckets]];
        return pointOf(labels, { buckets: { boundaries, counts }, count, sum });
      },
    );
    return { ...base, dataPointType: DataPointType.HISTOGRAM, dataPoints };
  }
  const dataPoints = metric.series.map(([labels, value]) =>
    pointOf(labels, value),
  );
  return metric.type === "gauge"
    ? { ...base, dataPointType: DataPointType.GAUGE, dataPoints }
    : {
        ...base,
        ...{ dataPointType: DataPointType.SUM, dataPoints, isMonotonic: true },
      };
}

/** Returns the attributes that the conventions require and never change. */
function constantsOf(name: string): Attributes {
  if (!name.startsWith("gen_ai.client.inference.")) return {};
  const operation = { "gen_ai.operation.name": "chat" };
  return name.startsWith("gen_ai.client.inference.usage.")
    ? { ...operation, "gen_ai.token.modality": "unknown" }
    : operation;
}

/** Returns a time in milliseconds since 1970 as seconds and nanoseconds. */
function timeOf(ms: number): HrTime {
  return [Math.trunc(ms / 1000), (ms % 1000) * 1e6];
}

/** Returns an exporter that tells how each of its requests ended. */
function reporting(
  exporter: OTLPMetricExporter,
  faults: CollectorFaults,
): PushMetricExporter {
  return {
    export: (metrics, done) =>
      exporter.export(metrics, (result) => {
        if (result.code === SUCCESS) {
          faults.noteSuccess();
        } else {
          faults.note(result.error, 0);
        }
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush(),
    selectAggregationTemporality: () => AggregationTemporality.CUMULATIVE,
  };
}
