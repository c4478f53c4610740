import type { Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import {
  bearerInterceptor,
  createDevtoolClient,
  type DevtoolClient,
} from "@devtool/client";
import { createA2aTransport } from "@devtool/client/a2a";

/** Where a server is, and a token for it. */
export interface Address {
  readonly url: string;
  readonly token: string;
}

/** A transport of Connect to a server, with its token. */
export function transportOf(
  server: Address,
  httpVersion: "1.1" | "2" = "1.1",
): Transport {
  return createConnectTransport({ ...optionsOf(server), httpVersion });
}

/** A client of a server over Connect. */
export function clientOf(
  server: Address,
  httpVersion: "1.1" | "2" = "1.1",
): DevtoolClient {
  return createDevtoolClient(transportOf(server, httpVersion));
}

/** Clients of a server, by the binding that they use. */
export const CLIENTS = {
  Connect: (server: Address) => clientOf(server),
  "Connect over h2c": (server: Address) => clientOf(server, "2"),
  gRPC: (server: Address) =>
    createDevtoolClient(createGrpcTransport(optionsOf(server))),
  "gRPC-Web": (server: Address) =>
    createDevtoolClient(
      createGrpcWebTransport({ ...optionsOf(server), httpVersion: "1.1" }),
    ),
  "A2A 1.0 over JSON-RPC": overA2a("1.0", "JSONRPC"),
  "A2A 1.0 over HTTP+JSON": overA2a("1.0", "HTTP+JSON"),
  "A2A 1.0 over gRPC": overA2a("1.0", "GRPC"),
  "A2A 0.3 over JSON-RPC": overA2a("0.3", "JSONRPC"),
  "A2A 0.3 over HTTP+JSON": overA2a("0.3", "HTTP+JSON"),
} as const;

/** The name of a binding in {@link CLIENTS}. */
export type Binding = keyof typeof CLIENTS;

function overA2a(protocolVersion: string, protocolBinding: string) {
  const grpc = (baseUrl: string) => createGrpcTransport({ baseUrl });
  return ({ url, token }: Address): DevtoolClient =>
    createDevtoolClient(
      createA2aTransport({
        url,
        token,
        protocolVersion,
        protocolBinding,
        grpc,
      }),
    );
}

function optionsOf({ url, token }: Address) {
  return { baseUrl: url, interceptors: [bearerInterceptor(token)] };
}
