import type { ServerConfig } from "@devtool/schema/operator";
import type { Io } from "../io.ts";
import type { Metrics } from "../metrics/open-metrics.ts";
import { otlpUrls } from "./otlp-urls.ts";
import type { Telemetry } from "./telemetry.ts";

/** What telemetry takes from its surroundings. */
interface Surroundings extends Pick<Io, "env"> {
  /** Receives a text when the collector is away, and when it is back. */
  readonly onNotice: (text: string) => void;
  /** What is measured. Undefined: nothing is. */
  readonly metrics: Pick<Metrics, "reader"> | undefined;
}

/**
 * Starts to export what the config file or the variables of OpenTelemetry ask
 * for. Without them, nothing is loaded.
 *
 * @param secrets what must not be in content
 */
export async function openTelemetry(
  config: Pick<ServerConfig, "telemetry" | "mcpServers">,
  surroundings: Surroundings,
  secrets: readonly string[],
): Promise<Telemetry> {
  const { env, onNotice, metrics } = surroundings;
  const urls = otlpUrls(config, env);
  const headers = config.telemetry?.headers ?? {};
  const spans =
    urls.traces === undefined
      ? undefined
      : await openSpans(urls.traces, config, surroundings, secrets);
  const measured = metrics && urls.metrics;
  if (!metrics || measured === undefined) {
    return {
      observer: spans?.observer,
      [Symbol.asyncDispose]: async () => spans?.[Symbol.asyncDispose](),
    };
  }
  const { exportMetrics } = await import("./export-metrics.ts");
  const exported = exportMetrics({
    ...{ url: measured, headers, onNotice, read: metrics.reader() },
    intervalMs: intervalIn(env.OTEL_METRIC_EXPORT_INTERVAL),
  });
  return {
    observer: spans?.observer,
    async [Symbol.asyncDispose]() {
      const open = [spans, exported].map((each) =>
        each?.[Symbol.asyncDispose](),
      );
      await Promise.all(open);
    },
  };
}

/** The time between posts of metrics in milliseconds (OpenTelemetry's). */
const INTERVAL_MS = 60_000;

/** Reads that time from its variable, within a second and a day. */
function intervalIn(text: string | undefined): number {
  const ms = Number(text) || INTERVAL_MS;
  return Math.min(Math.max(ms, 1000), 86_400_000);
}

async function openSpans(
  url: string,
  { telemetry, mcpServers }: Pick<ServerConfig, "telemetry" | "mcpServers">,
  { env, onNotice }: Surroundings,
  secrets: readonly string[],
): Promise<Telemetry> {
  const { exportSpans } = await import("./export-spans.ts");
  return exportSpans({
    url,
    headers: telemetry?.headers ?? {},
    content: telemetry?.content ?? false,
    openInference: telemetry?.openinference ?? false,
    mcpServers,
    secrets: [
      ...secrets,
      ...Object.values(telemetry?.headers ?? {}),
      ...Object.entries(env).flatMap(([name, value = ""]) =>
        SECRET_NAME.test(name) ? [value] : [],
      ),
    ],
    onNotice,
  });
}

/** The names of variables that hold secrets, such as GEMINI_API_KEY. */
const SECRET_NAME = /key|token|secret|passw|credential|headers/i;
