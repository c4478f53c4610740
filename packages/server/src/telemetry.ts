// The public names of @devtool/server/telemetry: what a server does, for tools
// of OpenTelemetry. Its peer `@opentelemetry/api` is loaded with it.

export { spanObserver } from "./telemetry/span-observer.ts";
