import type { Transport } from "@connectrpc/connect";
import { bearerInterceptor, createDevtoolClient, type DevtoolClient } from "@devtool/client";
import { defaultDataDirectory, discoveryPath, readDiscovery } from "./discovery.ts";
import type { Io } from "./io.ts";

/** How to reach a server. */
export interface ConnectionOptions {
  readonly url?: string;
  readonly token?: string;
  readonly data?: string;
  readonly protocol?: string;
}

/** A server's address and token. */
export interface Address {
  readonly url: string;
  readonly token: string;
}

/** Finds the server to talk to: the one that is named, or the one that the data directory tells of. */
export async function findServer(options: ConnectionOptions, io: Io): Promise<Address | undefined> {
  const info = await readDiscovery(options.data ?? defaultDataDirectory(io.env));
  if (options.url === undefined) return info;
  const token = options.token ?? io.env.DEVTOOL_TOKEN ?? (info?.url === options.url ? info.token : "");
  return { url: options.url, token };
}

/** Connects to the server there is. Throws when there is none. */
export async function connect(options: ConnectionOptions, io: Io): Promise<DevtoolClient> {
  const address = await findServer(options, io);
  if (address) return clientOf(address, options.protocol ?? "connect");
  const path = discoveryPath(options.data ?? defaultDataDirectory(io.env));
  throw new Error(`no server is running (looked at ${path}): start one with "devtool serve", or name one with --url`);
}

/** Makes a client for an address. Throws for a protocol that does not exist. */
export async function clientOf({ url, token }: Address, protocol: string): Promise<DevtoolClient> {
  return createDevtoolClient(await transportOf({ url, token }, protocol));
}

async function transportOf({ url, token }: Address, protocol: string): Promise<Transport> {
  switch (protocol) {
    case "connect": {
      const { createConnectTransport } = await import("@connectrpc/connect-node");
      return createConnectTransport({ baseUrl: url, httpVersion: "1.1", interceptors: [bearerInterceptor(token)] });
    }
    case "grpc": {
      const { createGrpcTransport } = await import("@connectrpc/connect-node");
      return createGrpcTransport({ baseUrl: url, interceptors: [bearerInterceptor(token)] });
    }
    case "a2a": {
      const { createAgentTransport, fetchAgentCard } = await import("@devtool/client/a2a");
      const { createGrpcTransport } = await import("@connectrpc/connect-node");
      const card = await fetchAgentCard({ url, extension: "optional" }, AbortSignal.timeout(10_000));
      return createAgentTransport(card, { url, token, grpc: (baseUrl) => createGrpcTransport({ baseUrl }) });
    }
    default:
      throw new Error(`protocol "${protocol}" does not exist: choose connect, grpc or a2a`);
  }
}
