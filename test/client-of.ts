import { createConnectTransport } from "@connectrpc/connect-node";
import {
  bearerInterceptor,
  createDevtoolClient,
  type DevtoolClient,
} from "@devtool/client";

/** Where a server is, and the token that its owner has. */
export interface Address {
  readonly url: string;
  readonly token: string;
}

/** A client of a server over Connect, with a token. */
export function clientOf(
  { url, token }: Address,
  httpVersion: "1.1" | "2" = "1.1",
): DevtoolClient {
  const interceptors = [bearerInterceptor(token)];
  return createDevtoolClient(
    createConnectTransport({ baseUrl: url, httpVersion, interceptors }),
  );
}
