import type { Transport } from "@connectrpc/connect";
import {
  bearerInterceptor,
  createDevtoolClient,
  type DevtoolClient,
  type ResumeOptions,
} from "@devtool/client";
import { defined } from "@devtool/internal/json";
import { holdsUser, shownUrl } from "@devtool/internal/shown-url";
import { oneLine } from "@devtool/internal/visible-text";
import { userMessage } from "../error-text.ts";
import { errorMessage } from "../errors.ts";
import { type Io, writeLine } from "../io.ts";
import { assertPrivateDirectory } from "../private-file.ts";
import type { Address } from "./address.ts";
import {
  defaultDataDirectory,
  discoveryPath,
  readDiscovery,
} from "./discovery.ts";
import { type PinnedTls, pinnedFetch, pinnedTls } from "./pinned-tls.ts";
import { ReconnectingTransport } from "./reconnecting-transport.ts";
import {
  UnprovenServerError,
  unresponsiveServer,
  verifyServer,
} from "./server-identity.ts";
import { assertAnswersGrpc, findProtocol } from "./spoken-protocol.ts";

/** The options by which a server is found and called. */
export interface ConnectionOptions {
  readonly url?: string;
  readonly token?: string;
  readonly data?: string;
  readonly protocol?: string;
}

/** A connection to a server. */
export interface Connection {
  readonly client: DevtoolClient;
  readonly address: Address;
  /**
   * Returns whether the server is gone, so that calls wait for it to start
   * again.
   */
  readonly isServerGone: () => boolean;
  /**
   * Whether it is an agent that is not devtool's, and whether it has the
   * development-tool extension.
   */
  readonly foreign?: "extension" | "plain" | undefined;
  /** How lost streams are resumed, and the user is told. */
  readonly resume: ResumeOptions;
}

/** Maximum number of attempts to reach an agent that is not devtool's. */
const FOREIGN_ATTEMPTS = 3;

/**
 * Finds the server to call: the one of `--url`, or the one of the data
 * directory's discovery file; undefined when none runs.
 *
 * Returns the token of that file only when the program that listens there
 * proves that it wrote the file. Throws when another program listens in its
 * place, when it does not answer, when the file cannot be read (each an
 * `UnprovenServerError`), when other users can read the data directory, and
 * when the signal aborts.
 */
export async function findServer(
  options: ConnectionOptions,
  io: Pick<Io, "env">,
  signal: AbortSignal,
): Promise<Address | undefined> {
  const { url: named, data = defaultDataDirectory(io.env) } = options;
  if (
    named !== undefined &&
    !/^https?:$/.test(URL.parse(named)?.protocol ?? "")
  ) {
    throw new Error(
      `"${shownUrl(named)}" is not the URL of a server: write it as http://127.0.0.1:41242`,
    );
  }
  if (named !== undefined && holdsUser(named)) {
    throw new Error(
      `"${shownUrl(named)}" has a user name or a password in front: leave them out, and give a token with --token or DEVTOOL_TOKEN`,
    );
  }
  const given =
    options.token ?? (named === undefined ? undefined : io.env.DEVTOOL_TOKEN);
  // With a named server and a token the discovery file is not needed, so it may
  // be unreadable.
  const needsDiscovery = named === undefined || given === undefined;
  if (needsDiscovery) await assertPrivateDirectory(data);
  const info = await readDiscovery(data).catch((reason: unknown) => {
    if (!needsDiscovery) return undefined;
    const problem = `cannot determine whether a server is running: ${errorMessage(reason)}`;
    throw new UnprovenServerError(problem, { cause: reason });
  });
  if (named !== undefined && info?.url !== named) {
    return { url: named, token: given ?? "" };
  }
  if (!info) return undefined;
  const { url, token } = info;
  const address = {
    url,
    info,
    ...defined({ certificate: info.certificate || undefined }),
  };
  if (given !== undefined) return { ...address, token: given };
  const identity = await verifyServer(info, signal);
  switch (identity.case) {
    case "proven":
      return { ...address, token };
    case "silent":
      throw new UnprovenServerError(
        unresponsiveServer(info, identity.timeoutMs),
      );
    case "foreign":
      throw new UnprovenServerError(
        `the program that listens at ${url} did not prove that it is the server of ${discoveryPath(data)} (${identity.reason}): it gets no token; start the server again, or name one with --url and --token`,
      );
    case "absent":
      return named === undefined ? undefined : { url: named, token: "" };
  }
}

/** Finds the server to call as `findServer` does. Throws when none runs. */
export async function requireServer(
  options: ConnectionOptions,
  io: Pick<Io, "env">,
  signal: AbortSignal,
): Promise<Address> {
  const address = await findServer(options, io, signal);
  if (address) return address;
  const path = discoveryPath(options.data ?? defaultDataDirectory(io.env));
  throw new Error(
    `no server is running (looked at ${path}): start one with "devtool serve", or name one with --url`,
  );
}

/** Connects to the running or named server. Throws when there is none. */
export async function connect(
  options: ConnectionOptions,
  io: Io,
  signal: AbortSignal = NEVER,
): Promise<DevtoolClient> {
  return (await openConnection(options, io, createNotifier(io), signal)).client;
}

/**
 * Connects to the running or named server. Throws when there is none.
 *
 * `notify` receives a message when the connection is lost, and when it is
 * restored.
 */
export async function openConnection(
  options: ConnectionOptions,
  io: Pick<Io, "env">,
  notify: (text: string) => void,
  signal: AbortSignal = NEVER,
): Promise<Connection> {
  const address = await requireServer(options, io, signal);
  return connectionTo(address, { ...options, io, notify });
}

/** The signal of commands that Ctrl-C ends at once, with their process. */
const NEVER: AbortSignal = new AbortController().signal;

/** Returns a function that prints messages for the user on standard error. */
export function createNotifier({
  stderr,
}: Pick<Io, "stderr">): (text: string) => void {
  // A notice may hold words of a server, such as an error or an id.
  return (text) => writeLine(stderr, `devtool: ${oneLine(text)}`);
}

/** Options of a connection that is kept over restarts of the server. */
interface KeepOptions extends ConnectionOptions {
  readonly io: Pick<Io, "env">;
  readonly notify: (text: string) => void;
}

/**
 * Connects to a server. When its token comes from the discovery file, each call
 * reads the file again.
 */
export async function connectionTo(
  address: Address,
  { io, notify, ...options }: KeepOptions,
): Promise<Connection> {
  const { info } = address;
  const { fetch } = await trustIn(address.certificate);
  const { protocol, foreign } = info
    ? { protocol: options.protocol ?? "connect" }
    : await findProtocol(address, options.protocol, fetch);
  const open = (to: Address): Promise<Transport> =>
    createTransport(to, protocol, notify);
  if (info?.token !== address.token) {
    const transport = await open(address);
    if (protocol === "grpc") await assertAnswersGrpc(address, transport);
    return {
      client: createDevtoolClient(transport),
      address,
      isServerGone: () => false,
      foreign,
      resume: {
        onLost: (error) => notify(`${userMessage(error)}: trying again`),
        ...(foreign && { maxAttempts: FOREIGN_ATTEMPTS }),
      },
    };
  }
  const find = async (signal: AbortSignal): Promise<Address | undefined> => {
    const found = await findServer(options, io, signal);
    return found?.info && found;
  };
  const transport = new ReconnectingTransport(
    { address, transport: await open(address) },
    { find, open, notify },
  );
  return {
    client: createDevtoolClient(transport),
    address,
    isServerGone: () => transport.isServerGone,
    resume: {},
  };
}

/** Returns a client for an address. Throws for an unknown protocol. */
export async function createClient(
  address: Address,
  protocol: string,
): Promise<DevtoolClient> {
  return createDevtoolClient(
    await createTransport(address, protocol, () => undefined),
  );
}

async function createTransport(
  { url, token, certificate }: Address,
  protocol: string,
  notify: (text: string) => void,
): Promise<Transport> {
  const { fetch, nodeOptions } = await trustIn(certificate);
  const interceptors = [bearerInterceptor(token)];
  switch (protocol) {
    case "connect": {
      const { createConnectTransport } = await import(
        "@connectrpc/connect-node"
      );
      return createConnectTransport({
        baseUrl: url,
        httpVersion: "1.1",
        interceptors,
        nodeOptions,
      });
    }
    case "grpc": {
      const { createGrpcTransport } = await import("@connectrpc/connect-node");
      return createGrpcTransport({ baseUrl: url, interceptors, nodeOptions });
    }
    case "a2a": {
      const { createAgentTransport, fetchAgentCard } = await import(
        "@devtool/client/a2a"
      );
      const { createGrpcTransport } = await import("@connectrpc/connect-node");
      const onLeftOut = (why: string): void =>
        notify(`left out of what the agent sent: ${why}`);
      const card = await fetchAgentCard(
        { url, extension: "optional", fetch, onLeftOut },
        AbortSignal.timeout(10_000),
      );
      return createAgentTransport(card, {
        url,
        token,
        fetch,
        onLeftOut,
        grpc: (baseUrl) => createGrpcTransport({ baseUrl, nodeOptions }),
      });
    }
    default:
      throw new Error(
        `protocol "${protocol}" does not exist: choose connect, grpc or a2a`,
      );
  }
}

/**
 * Returns how HTTP and HTTP/2 clients verify a server: by its certificate
 * alone, when that is known.
 */
export async function trustIn(certificate: string | undefined): Promise<{
  readonly fetch: typeof globalThis.fetch;
  readonly nodeOptions: Partial<PinnedTls>;
}> {
  if (certificate === undefined) {
    return { fetch: globalThis.fetch, nodeOptions: {} };
  }
  return {
    fetch: await pinnedFetch(certificate),
    nodeOptions: pinnedTls(certificate),
  };
}
