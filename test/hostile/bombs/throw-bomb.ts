import type { Answer, Client } from "../clients.ts";
import type { Bomb } from "./documents.ts";

/**
 * The result of a bomb: an error in the form of its binding, a closed
 * connection, or an ordinary answer.
 */
export type Fate = "refused" | "cut off" | "taken";

/** Sends a bomb. A server that will not read on may end the connection. */
export async function throwBomb(
  { path, type, headers, body }: Bomb,
  client: Client,
): Promise<Fate> {
  try {
    return isError(await client.ask({ path, type, headers, body }))
      ? "refused"
      : "taken";
  } catch {
    return "cut off";
  }
}

function isError({ status, headers, trailers, body }: Answer): boolean {
  if (status >= 400) return status < 500;
  const text = body.toString("latin1");
  const grpcStatus =
    trailers["grpc-status"] ??
    headers["grpc-status"] ??
    /grpc-status: *(\d+)/.exec(text)?.[1] ??
    "0";
  return grpcStatus !== "0" || text.includes('"error":');
}
