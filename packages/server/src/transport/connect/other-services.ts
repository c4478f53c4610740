import type { ConnectRouter } from "@connectrpc/connect";
import type { Served } from "../dialect.ts";

/** Loads what registers the services of other dialects. */
export function loadRpcs(
  served: readonly Served[],
): Promise<((router: ConnectRouter) => void)[]> {
  return Promise.all(
    served.flatMap((each) => ("loadRpcs" in each ? [each.loadRpcs()] : [])),
  );
}
