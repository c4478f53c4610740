import { createHash, timingSafeEqual } from "node:crypto";
import { Code, DevtoolError } from "@devtool/server";
import { type Dialect, publicRoute } from "@devtool/server/dialect";
import { metricText } from "./exposition.ts";
import type { ServerMetrics } from "./server-metrics.ts";

/** The media type of the text format of Prometheus. */
const TEXT_FORMAT = "text/plain; version=0.0.4; charset=utf-8";

/**
 * Serves `GET /metrics` to whoever sends the token of the metrics, which opens
 * nothing else. The operator's token does not open it: what scrapes is given no
 * more than it needs.
 */
export function metricsRoute(metrics: ServerMetrics, token: string): Dialect {
  const expected = digestOf(`Bearer ${token}`);
  const read = metrics.reader();
  return (services) => [
    publicRoute(services, "GET", "/metrics", async ({ request, response }) => {
      const sent = request.headers.authorization ?? "";
      if (!timingSafeEqual(digestOf(sent), expected)) {
        response.setHeader("www-authenticate", "Bearer");
        throw new DevtoolError(
          "the token of the metrics is missing or wrong",
          Code.Unauthenticated,
          { remedy: "send it in the Authorization header" },
        );
      }
      const text = (await read()).map(metricText).join("");
      response.setHeader("content-type", TEXT_FORMAT);
      response.setHeader("cache-control", "no-store");
      response.end(text);
    }),
  ];
}

/** Returns a digest, so that texts of any length are compared in equal time. */
function digestOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
