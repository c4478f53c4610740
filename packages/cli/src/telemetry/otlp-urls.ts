import { shownUrl } from "@devtool/internal/shown-url";
import type { ServerConfig } from "@devtool/schema/operator";
import type { Io } from "../io.ts";

/** Where telemetry is posted. Undefined: it is not exported. */
interface OtlpUrls {
  readonly traces: string | undefined;
  readonly metrics: string | undefined;
}

/**
 * Returns where the config file or the variables of OpenTelemetry want telemetry.
 * Throws for a URL that is not valid.
 */
export function otlpUrls(
  { telemetry }: Pick<ServerConfig, "telemetry">,
  env: Io["env"],
): OtlpUrls {
  const isDisabled = env.OTEL_SDK_DISABLED?.toLowerCase() === "true";
  const urlOf = (signal: keyof OtlpUrls): string | undefined => {
    const name = signal.toUpperCase();
    const whole = env[`OTEL_EXPORTER_OTLP_${name}_ENDPOINT`] ?? "";
    const base = env.OTEL_EXPORTER_OTLP_ENDPOINT ?? "";
    const endpoint = telemetry?.endpoint ?? "";
    if (isDisabled || env[`OTEL_${name}_EXPORTER`] === "none") return undefined;
    const path = `/v1/${signal}`;
    if (endpoint !== "") return below("telemetry.endpoint", endpoint, path);
    if (whole !== "") {
      return checked(`OTEL_EXPORTER_OTLP_${name}_ENDPOINT`, whole);
    }
    return base === ""
      ? undefined
      : below("OTEL_EXPORTER_OTLP_ENDPOINT", base, path);
  };
  return {
    traces: urlOf("traces"),
    metrics: telemetry?.metrics === false ? undefined : urlOf("metrics"),
  };
}

function below(name: string, base: string, path: string): string {
  return `${checked(name, base).replace(/\/+$/, "")}${path}`;
}

function checked(name: string, url: string): string {
  const protocol = URL.parse(url)?.protocol;
  if (protocol === "http:" || protocol === "https:") return url;
  throw new Error(
    `${name} ${JSON.stringify(shownUrl(url))} is not a URL: write it as http://127.0.0.1:4318`,
  );
}
