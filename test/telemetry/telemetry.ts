import { exportSpans } from "@devtool/cli/testing";
import type { Observer } from "@devtool/server";
import { type Collector, collect } from "./collector.ts";

/** A collector, and what sends a server's spans there. */
export interface Telemetry extends Collector {
  readonly observer: Observer | undefined;
  /** What the operator is told. */
  readonly notices: readonly string[];
  /** Sends what is left. */
  flush(): Promise<void>;
}

type ExportOptions = Partial<Parameters<typeof exportSpans>[0]>;

/** Starts a collector, and an exporter that sends spans there. */
export async function startTelemetry(
  options: ExportOptions = {},
): Promise<Telemetry> {
  const collector = await collect();
  const notices: string[] = [];
  const sent = exportSpans({
    url: `${collector.url}/v1/traces`,
    headers: {},
    secrets: [],
    onNotice: (text) => notices.push(text),
    ...options,
  });
  return {
    ...collector,
    notices,
    observer: sent.observer,
    flush: async () => sent[Symbol.asyncDispose](),
  };
}
