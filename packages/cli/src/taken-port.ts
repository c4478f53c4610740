import { readDiscovery } from "./connection/discovery.ts";
import { verifyServer } from "./connection/server-identity.ts";
import { errorCode } from "./errors.ts";

/**
 * Returns the error to show when a server did not start: the given one, unless
 * the port is taken by the running server of the same data directory. That
 * server is then named, since another port alone would not help.
 */
export async function takenPortError(
  reason: unknown,
  port: number,
  dataDirectory: string,
): Promise<unknown> {
  if (!(reason instanceof Error) || errorCode(reason.cause) !== "EADDRINUSE") {
    return reason;
  }
  const info = await readDiscovery(dataDirectory).catch(() => undefined);
  if (!info || Number(new URL(info.url).port) !== port) return reason;
  const identity = await verifyServer(info, new AbortController().signal);
  if (identity.case !== "proven") return reason;
  const { hostname } = new URL(info.url);
  return new Error(
    `port ${port} of ${hostname} is in use by the server of this data directory, which serves "${info.workspace}" (process ${info.pid}): stop it, or give this one another --port and --data`,
    { cause: reason },
  );
}
