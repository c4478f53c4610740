import { expect, it } from "vitest";
import { otlpUrls } from "./otlp-urls.ts";

it.each(["TRACES", "METRICS"])(
  "shows no password of a URL for %s that is not valid",
  (signal) => {
    const name = `OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`;
    const env = { [name]: "http://me:s3/cret@collector.example" };
    expect(() => otlpUrls({}, env)).toThrow(`${name} "http://…" is not a URL`);
  },
);
