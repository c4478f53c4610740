import { spanObserver } from "@devtool/server/telemetry";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import {
  BatchSpanProcessor,
  type SpanExporter,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { CollectorFaults } from "./collector-faults.ts";
import { REQUEST_MS, SUCCESS, withinFlushTime } from "./export-limits.ts";
import { serverResource } from "./server-resource.ts";
import type { Telemetry } from "./telemetry.ts";

type SpanOptions = NonNullable<Parameters<typeof spanObserver>[0]>;

/** Options of `exportSpans`. */
export interface ExportOptions extends Omit<SpanOptions, "tracerProvider"> {
  /** The URL to which spans are posted. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Receives a text when the collector is away, and when it is back. */
  readonly onNotice: (text: string) => void;
}

/** Records what a server does, and sends it to a collector in batches. */
export function exportSpans(options: ExportOptions): Telemetry {
  const { url, headers, onNotice } = options;
  const faults = new CollectorFaults(url, "spans", onNotice);
  const exporter = new OTLPTraceExporter({
    url,
    headers: { ...headers },
    timeoutMillis: REQUEST_MS,
  });
  const provider = new TracerProvider({
    resource: serverResource(),
    spanProcessors: [
      new BatchSpanProcessor({ exporter: reporting(exporter, faults) }),
    ],
  });
  return {
    observer: spanObserver({ ...options, tracerProvider: provider }),
    async [Symbol.asyncDispose]() {
      await withinFlushTime(provider.shutdown());
      faults.close();
    },
  };
}

/** Returns an exporter that tells how each of its requests ended. */
function reporting(
  exporter: SpanExporter,
  faults: CollectorFaults,
): SpanExporter {
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        if (result.code === SUCCESS) {
          faults.noteSuccess();
        } else {
          faults.note(result.error, spans.length);
        }
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
  };
}
