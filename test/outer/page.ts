import type { Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-web";
import { bearerInterceptor } from "@devtool/client";
import { createA2aTransport, fetchAgentCard } from "@devtool/client/a2a";
import { type Played, play } from "./play.ts";

/** How a page reaches an agent. */
export interface Visit {
  readonly url: string;
  readonly token: string;
  /**
   * `connect`, `grpc-web`, or a version of A2A and a binding of the agent's
   * card.
   */
  readonly protocol: string;
  readonly file: string;
}

/**
 * Plays in the browser. What failed is given in words, with whatever the page
 * was let read of it.
 */
async function visit(to: Visit): Promise<Played | string> {
  try {
    return await play(await transportTo(to), to.file);
  } catch (reason) {
    return String(reason);
  }
}

async function transportTo({
  url,
  token,
  protocol,
}: Visit): Promise<Transport> {
  const options = { baseUrl: url, interceptors: [bearerInterceptor(token)] };
  if (protocol === "connect") return createConnectTransport(options);
  if (protocol === "grpc-web") return createGrpcWebTransport(options);
  const card = await fetchAgentCard({ url }, AbortSignal.timeout(60_000));
  const wanted = card.supportedInterfaces.find(
    ({ protocolVersion, protocolBinding }) =>
      `${protocolVersion} ${protocolBinding}` === protocol,
  );
  if (!wanted) throw new Error(`the card has no ${protocol}`);
  return createA2aTransport({ ...wanted, token });
}

Object.assign(globalThis, { visit });
