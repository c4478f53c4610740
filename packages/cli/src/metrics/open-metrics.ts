import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { DevtoolServer, Observer } from "@devtool/server";
import type { Dialect } from "@devtool/server/dialect";
import type { OperatorConfig } from "../agents/agent-options.ts";
import { readTokenFile } from "../listen-options.ts";

/** What measures a server, and serves it. */
export interface Metrics extends Disposable {
  readonly observer: Observer;
  readonly dialect: Dialect;
  /** Measures a server that has started. */
  watch(server: Pick<DevtoolServer, "load">): void;
}

/**
 * Opens the metrics that the config file asks for. Without it nothing is
 * loaded or measured.
 *
 * @param storeFiles the files of the store; none where it is in a database
 */
export async function openMetrics(
  { config, directory }: OperatorConfig,
  storeFiles: readonly string[],
): Promise<Metrics | undefined> {
  if (!config.metrics) return undefined;
  const { tokenFile } = config.metrics;
  if (tokenFile === "") {
    throw new Error(
      'metrics.token_file is missing: write the path of a file with a token of its own, as "openssl rand -hex 32" prints',
    );
  }
  const token = await readTokenFile(resolve(directory, tokenFile));
  const { ServerMetrics } = await import("./server-metrics.ts");
  const { metricsRoute } = await import("./metrics-route.ts");
  const metrics = new ServerMetrics({
    elapsedMs: () => performance.now(),
    storeBytes: () => sizeOf(storeFiles),
  });
  return {
    observer: metrics.observer,
    dialect: metricsRoute(metrics, token),
    watch: (server) => metrics.watch(server),
    [Symbol.dispose]: () => metrics[Symbol.dispose](),
  };
}

/** Returns the size of files in bytes; undefined for none. */
async function sizeOf(paths: readonly string[]): Promise<number | undefined> {
  if (paths.length === 0) return undefined;
  const sizes = paths.map((path) =>
    stat(path).then(
      ({ size }) => size,
      () => 0,
    ),
  );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
