import type { Transport } from "@connectrpc/connect";
import { bearerInterceptor, createDevtoolClient, type DevtoolClient } from "@devtool/client";
import type { ServerInfo } from "@devtool/schema";
import type { Address } from "./address.ts";
import { defaultDataDirectory, discoveryPath, readDiscovery } from "./discovery.ts";
import { type Io, writeLine } from "./io.ts";
import { type PinnedTls, pinnedFetch, pinnedTls } from "./pinned-tls.ts";
import { assertPrivateDirectory } from "./private-file.ts";
import { ReconnectingTransport } from "./reconnecting-transport.ts";
import { silenceOf, standingOf } from "./server-standing.ts";

/** The options by which a server is found and called. */
export interface ConnectionOptions {
  readonly url?: string;
  readonly token?: string;
  readonly data?: string;
  readonly protocol?: string;
}

/** The server of the discovery file cannot be used: it did not prove that it wrote the file, or the file cannot be read. */
export class UnprovenServerError extends Error {
  override readonly name = "UnprovenServerError";
}

/** A connection to a server. */
export interface Connection {
  readonly client: DevtoolClient;
  readonly address: Address;
  /** Returns whether a call waits for the server to start again. */
  readonly isWaiting: () => boolean;
}

/**
 * Finds the server to call: the one of `--url`, or the one of the data directory's discovery file; undefined when none runs.
 *
 * Returns the token of that file only when the program that listens there proves that it wrote the file. Throws when another program listens in
 * its place, when it does not answer, when other users can read the data directory, and when the file cannot be read.
 */
export async function findServer(options: ConnectionOptions, io: Io): Promise<Address | undefined> {
  assertUrl(options.url);
  const given = options.token ?? (options.url === undefined ? undefined : io.env.DEVTOOL_TOKEN);
  const data = options.data ?? defaultDataDirectory(io.env);
  if (options.url === undefined || given === undefined) await assertPrivateDirectory(data);
  const info = await discovered(data, options.url !== undefined && given !== undefined);
  if (options.url !== undefined && info?.url !== options.url) return { url: options.url, token: given ?? "" };
  if (!info) return undefined;
  const { url, token, certificate } = info;
  const address = { url, info, ...(certificate !== "" && { certificate }) };
  if (given !== undefined) return { ...address, token: given };
  const standing = await standingOf(info, NEVER);
  if (standing.case === "proven") return { ...address, token };
  if (standing.case === "silent") throw new UnprovenServerError(silenceOf(info, standing.timeoutMs));
  if (standing.case === "foreign") throw new UnprovenServerError(foreign(info, discoveryPath(data), standing.reason));
  return options.url === undefined ? undefined : { url: options.url, token: "" };
}

/** Reads the discovery file. With a named server and token it is not needed, so it may be unreadable. */
async function discovered(data: string, isNamed: boolean): Promise<ServerInfo | undefined> {
  try {
    return await readDiscovery(data);
  } catch (reason) {
    if (isNamed) return undefined;
    const problem = reason instanceof Error ? reason.message : String(reason);
    throw new UnprovenServerError(`cannot determine whether a server is running: ${problem}`, { cause: reason });
  }
}

function assertUrl(url: string | undefined): void {
  if (url === undefined || /^https?:$/.test(URL.parse(url)?.protocol ?? "")) return;
  throw new Error(`"${url}" is not the URL of a server: write it as http://127.0.0.1:41242`);
}

const NEVER: AbortSignal = new AbortController().signal;

function foreign({ url }: ServerInfo, path: string, reason: string): string {
  return `what listens at ${url} did not prove that it is the server of ${path} (${reason}): it gets no token; start the server again, or name one with --url and --token`;
}

/** Connects to the running or named server. Throws when there is none. */
export async function connect(options: ConnectionOptions, io: Io): Promise<DevtoolClient> {
  return (await openConnection(options, io)).client;
}

/**
 * Connects to the running or named server. Throws when there is none.
 *
 * `notify` receives a message when the connection is lost, and when it is restored.
 */
export async function openConnection(
  options: ConnectionOptions,
  io: Io,
  notify: (text: string) => void = notifierOf(io),
): Promise<Connection> {
  const address = await findServer(options, io);
  if (address) return connectionTo(address, { ...options, io, notify });
  const path = discoveryPath(options.data ?? defaultDataDirectory(io.env));
  throw new Error(`no server is running (looked at ${path}): start one with "devtool serve", or name one with --url`);
}

/** Returns a function that prints messages for the user on standard error. */
export function notifierOf({ stderr }: Pick<Io, "stderr">): (text: string) => void {
  return (text) => writeLine(stderr, `devtool: ${text}`);
}

/** Options of a connection that is kept over restarts of the server. */
export interface KeepOptions extends ConnectionOptions {
  readonly io: Io;
  readonly notify: (text: string) => void;
}

/** Connects to a server. When its token comes from the discovery file, each call reads the file again. */
export async function connectionTo(address: Address, { io, notify, ...options }: KeepOptions): Promise<Connection> {
  const { protocol = "connect" } = options;
  const open = (to: Address): Promise<Transport> => transportOf(to, protocol);
  const { info } = address;
  if (info?.token !== address.token) {
    return { client: createDevtoolClient(await open(address)), address, isWaiting: () => false };
  }
  const find = async (): Promise<Address | undefined> => {
    const found = await findServer(options, io);
    return found?.info && found;
  };
  const transport = new ReconnectingTransport({ address, transport: await open(address) }, { find, open, notify });
  return { client: createDevtoolClient(transport), address, isWaiting: () => transport.isWaiting };
}

/** Returns a client for an address. Throws for an unknown protocol. */
export async function clientOf(address: Address, protocol: string): Promise<DevtoolClient> {
  return createDevtoolClient(await transportOf(address, protocol));
}

async function transportOf({ url, token, certificate }: Address, protocol: string): Promise<Transport> {
  const { fetch, nodeOptions } = await trustIn(certificate);
  const interceptors = [bearerInterceptor(token)];
  switch (protocol) {
    case "connect": {
      const { createConnectTransport } = await import("@connectrpc/connect-node");
      return createConnectTransport({ baseUrl: url, httpVersion: "1.1", interceptors, nodeOptions });
    }
    case "grpc": {
      const { createGrpcTransport } = await import("@connectrpc/connect-node");
      return createGrpcTransport({ baseUrl: url, interceptors, nodeOptions });
    }
    case "a2a": {
      const { createAgentTransport, fetchAgentCard } = await import("@devtool/client/a2a");
      const { createGrpcTransport } = await import("@connectrpc/connect-node");
      const card = await fetchAgentCard({ url, extension: "optional", fetch }, AbortSignal.timeout(10_000));
      const grpc = (baseUrl: string): Transport => createGrpcTransport({ baseUrl, nodeOptions });
      return createAgentTransport(card, { url, token, fetch, grpc });
    }
    default:
      throw new Error(`protocol "${protocol}" does not exist: choose connect, grpc or a2a`);
  }
}

/** Returns how HTTP and HTTP/2 clients verify a server: by its certificate alone, when that is known. */
export async function trustIn(
  certificate: string | undefined,
): Promise<{ readonly fetch: typeof globalThis.fetch; readonly nodeOptions: Partial<PinnedTls> }> {
  if (certificate === undefined) return { fetch: globalThis.fetch, nodeOptions: {} };
  return { fetch: await pinnedFetch(certificate), nodeOptions: pinnedTls(certificate) };
}
