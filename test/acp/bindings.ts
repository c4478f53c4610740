import type { Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
} from "@connectrpc/connect-node";
import { bearerInterceptor } from "@devtool/client";
import { createA2aTransport } from "@devtool/client/a2a";

/** Where a client finds a server. */
export interface Place {
  readonly url: string;
  readonly token: string;
}

/**
 * The public bindings of the port, by the words of docs/agents.md. Each request
 * over HTTP/1.1 has a connection of its own, and nothing is compressed, so that
 * a proxy that counts bytes cuts each of them.
 */
export const BINDINGS: Readonly<Record<string, (place: Place) => Transport>> = {
  "A2A 0.3, JSON-RPC": (place) =>
    createA2aTransport({ ...place, fetch: fetchOnce }),
  "A2A 0.3, HTTP+JSON": (place) =>
    createA2aTransport({
      ...place,
      fetch: fetchOnce,
      protocolBinding: "HTTP+JSON",
    }),
  "A2A 1.0, JSON-RPC": (place) =>
    createA2aTransport({ ...place, fetch: fetchOnce, protocolVersion: "1.0" }),
  "A2A 1.0, HTTP+JSON": (place) =>
    createA2aTransport({
      ...place,
      fetch: fetchOnce,
      protocolVersion: "1.0",
      protocolBinding: "HTTP+JSON",
    }),
  "A2A 1.0, gRPC": (place) =>
    createA2aTransport({
      ...place,
      protocolVersion: "1.0",
      protocolBinding: "GRPC",
      grpc: (baseUrl) =>
        createGrpcTransport({ baseUrl, acceptCompression: [] }),
    }),
  Connect: ({ url, token }) =>
    createConnectTransport({
      baseUrl: url,
      httpVersion: "1.1",
      acceptCompression: [],
      interceptors: [bearerInterceptor(token)],
      nodeOptions: { agent: false },
    }),
  gRPC: ({ url, token }) =>
    createGrpcTransport({
      baseUrl: url,
      acceptCompression: [],
      interceptors: [bearerInterceptor(token)],
    }),
};

const fetchOnce: typeof fetch = (input, init) =>
  fetch(input, {
    ...init,
    headers: {
      ...Object.fromEntries(new Headers(init?.headers)),
      connection: "close",
    },
  });
