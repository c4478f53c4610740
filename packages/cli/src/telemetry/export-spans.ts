import { setTimeout as delay } from "node:timers/promises";
import { VERSION } from "@devtool/server";
import { spanObserver } from "@devtool/server/telemetry";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from "@opentelemetry/resources";
import {
  BatchSpanProcessor,
  type SpanExporter,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { CollectorFaults } from "./collector-faults.ts";
import type { Telemetry } from "./telemetry.ts";

/** The time in milliseconds in which the last spans must be sent at the end. */
const FLUSH_MS = 3000;

/** The timeout of a request to the collector in milliseconds. */
const REQUEST_MS = 10_000;

/** The code of a result by which an exporter says that it has sent a batch. */
const SUCCESS = 0;

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
  const faults = new CollectorFaults(url, onNotice);
  const exporter = new OTLPTraceExporter({
    url,
    headers: { ...headers },
    timeoutMillis: REQUEST_MS,
  });
  const provider = new TracerProvider({
    resource: defaultResource()
      .merge(
        resourceFromAttributes({
          "service.name": "devtool",
          "service.version": VERSION,
        }),
      )
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [
      new BatchSpanProcessor({ exporter: reporting(exporter, faults) }),
    ],
  });
  return {
    observer: spanObserver({ ...options, tracerProvider: provider }),
    async [Symbol.asyncDispose]() {
      const over = new AbortController();
      const flushed = provider.shutdown().catch(() => undefined);
      const late = delay(FLUSH_MS, undefined, { signal: over.signal });
      await Promise.race([flushed, late]);
      over.abort();
      await late.catch(() => undefined);
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
