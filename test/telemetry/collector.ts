import { createServer } from "node:http";
import { expect } from "vitest";
import { type Seen, spansOf } from "./otlp-spans.ts";

/** A metric as a collector gets it. */
export interface SeenMetric {
  readonly name: string;
  readonly unit: string;
  readonly sum?: SeenPoints & { readonly isMonotonic: boolean };
  readonly gauge?: SeenPoints;
  readonly histogram?: SeenPoints;
}

interface SeenPoints {
  /** 2: since the start. */
  readonly aggregationTemporality: number;
  readonly dataPoints: readonly {
    readonly attributes: readonly {
      readonly key: string;
      readonly value: { readonly stringValue: string };
    }[];
    readonly asDouble?: number;
    readonly count?: number;
    readonly bucketCounts?: readonly number[];
    readonly explicitBounds?: readonly number[];
  }[];
}

/**
 * A collector of OpenTelemetry on loopback, which takes OTLP over HTTP: spans as
 * protobuf, metrics as JSON.
 */
export interface Collector extends AsyncDisposable {
  readonly url: string;
  readonly spans: readonly Seen[];
  /** The metrics that came last. */
  readonly metrics: () => readonly SeenMetric[];
  /** The bodies of all requests. */
  readonly text: () => string;
  /** Waits for a span of a name that fits, and returns it. */
  readonly find: (
    name: string,
    fits?: (span: Seen) => boolean,
  ) => Promise<Seen>;
}

/** Starts a collector on a port, or on a free one. */
export async function collect(port = 0): Promise<Collector> {
  const spans: Seen[] = [];
  const bodies: string[] = [];
  let metrics: SeenMetric[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    bodies.push(body.toString());
    if (request.headers["content-type"] === "application/json") {
      const { resourceMetrics = [] } = JSON.parse(body.toString());
      for (const { scopeMetrics } of resourceMetrics) {
        for (const scope of scopeMetrics) metrics = scope.metrics;
      }
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    } else {
      spans.push(...spansOf(body));
      response
        .writeHead(200, { "content-type": "application/x-protobuf" })
        .end();
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, "127.0.0.1", resolve);
  });
  const address = server.address();
  const bound = typeof address === "object" && address ? address.port : 0;
  const found = (name: string, fits: (span: Seen) => boolean) =>
    spans.find((span) => span.name === name && fits(span));
  return {
    url: `http://127.0.0.1:${bound}`,
    spans,
    text: () => bodies.join("\n"),
    metrics: () => metrics,
    find: async (name, fits = () => true) => {
      await expect
        .poll(() => found(name, fits) ?? spans.map((span) => span.name), {
          timeout: 60_000,
        })
        .toHaveProperty("spanId");
      const span = found(name, fits);
      if (!span) throw new Error(`there is no span ${name}`);
      return span;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
