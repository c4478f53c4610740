import { resolve } from "node:path";
import type { DevtoolServer, Observer } from "@devtool/server";
import type { Dialect } from "@devtool/server/dialect";
import type { OperatorConfig } from "../agents/agent-options.ts";
import type { Io } from "../io.ts";
import { otlpUrls } from "../telemetry/otlp-urls.ts";
import { readTokenFile } from "../token-file.ts";
import type { MetricReader, ServerMetrics } from "./server-metrics.ts";

/** What measures a server, and serves it. */
export interface Metrics extends Disposable {
  readonly observer: Observer;
  /** What serves it; none where it is only exported. */
  readonly dialects: readonly Dialect[];
  /** Returns a reader of all metrics, with its own time between readings. */
  readonly reader: () => MetricReader;
  /** Measures a server that has started. */
  watch(server: Pick<DevtoolServer, "load">): void;
}

/**
 * Opens the metrics that the config file asks for, or the variables of
 * OpenTelemetry. Without them nothing is loaded or measured.
 */
export async function openMetrics(
  operator: OperatorConfig,
  env: Io["env"],
): Promise<Metrics | undefined> {
  const isExported = otlpUrls(operator.config, env).metrics !== undefined;
  if (!operator.config.metrics && !isExported) return undefined;
  const token = await tokenOf(operator);
  const { ServerMetrics } = await import("./server-metrics.ts");
  const metrics = new ServerMetrics({
    elapsedMs: () => performance.now(),
  });
  return {
    observer: metrics.observer,
    dialects: token === "" ? [] : [await routeOf(metrics, token)],
    reader: () => metrics.reader(),
    watch: (server) => metrics.watch(server),
    [Symbol.dispose]: () => metrics[Symbol.dispose](),
  };
}

async function routeOf(
  metrics: ServerMetrics,
  token: string,
): Promise<Dialect> {
  const { metricsRoute } = await import("./metrics-route.ts");
  return metricsRoute(metrics, token);
}

/** Returns the token of the metrics; empty where they are not served. */
async function tokenOf({
  config: { metrics },
  directory,
}: OperatorConfig): Promise<string> {
  if (!metrics) return "";
  if (metrics.tokenFile === "") {
    throw new Error(
      'metrics.token_file is missing: write the path of a file with a token of its own, as "openssl rand -hex 32" prints',
    );
  }
  return readTokenFile(resolve(directory, metrics.tokenFile));
}
