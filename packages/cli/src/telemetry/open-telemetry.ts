import type { ServerConfig } from "@devtool/schema/operator";
import type { Io } from "../io.ts";
import type { Telemetry } from "./telemetry.ts";

/** What telemetry takes from its surroundings. */
interface Surroundings extends Pick<Io, "env"> {
  /** Receives a text when the collector is away, and when it is back. */
  readonly onNotice: (text: string) => void;
}

const NONE: Telemetry = {
  observer: undefined,
  [Symbol.asyncDispose]: () => Promise.resolve(),
};

/**
 * Starts to export what the config file or the variables of OpenTelemetry ask
 * for. Without them, nothing is loaded.
 *
 * @param secrets what must not be in content
 */
export async function openTelemetry(
  { telemetry, mcpServers }: Pick<ServerConfig, "telemetry" | "mcpServers">,
  { env, onNotice }: Surroundings,
  secrets: readonly string[],
): Promise<Telemetry> {
  const url = tracesUrl(telemetry?.endpoint ?? "", env);
  if (url === undefined) return NONE;
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

/**
 * Returns the URL to which spans are posted; undefined when they are not
 * exported. Throws for one that is not valid.
 */
function tracesUrl(endpoint: string, env: Io["env"]): string | undefined {
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === "true") return undefined;
  const whole = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? "";
  const base = env.OTEL_EXPORTER_OTLP_ENDPOINT ?? "";
  if (endpoint !== "") return below("telemetry.endpoint", endpoint);
  if (whole !== "") return checked("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", whole);
  return base === "" ? undefined : below("OTEL_EXPORTER_OTLP_ENDPOINT", base);
}

function below(name: string, base: string): string {
  return `${checked(name, base).replace(/\/+$/, "")}/v1/traces`;
}

function checked(name: string, url: string): string {
  const protocol = URL.parse(url)?.protocol;
  if (protocol === "http:" || protocol === "https:") return url;
  throw new Error(
    `${name} ${JSON.stringify(url)} is not a URL: write it as http://127.0.0.1:4318`,
  );
}
