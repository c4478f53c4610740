import type { Observer } from "@devtool/server";

/** What a server exports. Closing it sends what is left, within seconds. */
export interface Telemetry extends AsyncDisposable {
  /** Hears what the server does. Undefined when nothing is exported. */
  readonly observer: Observer | undefined;
}
