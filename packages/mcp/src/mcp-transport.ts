import { resolve } from "node:path";
import type { McpHttp, McpServer, McpStdio } from "@devtool/schema";
import { invalid } from "@devtool/server/agent";
import type { AuthProvider, FetchLike, OAuthClientProvider, Transport } from "@modelcontextprotocol/client";
import { boundedFetch } from "./bounded-fetch.ts";
import { loadSdk } from "./sdk.ts";
import { StdioTransport } from "./stdio-transport.ts";

/** How the user's consent is got from an authorization server (OAuth). */
export interface McpAuthorization {
  /** Keeps tokens and sends the user to the authorization server. */
  readonly provider: AuthProvider | OAuthClientProvider;
  /** Waits until the user comes back, with the parameters that they bring; undefined when nobody can be sent. */
  readonly callback?: (signal: AbortSignal) => Promise<URLSearchParams>;
}

/** What it takes to reach servers. */
export interface TransportOptions {
  /** Servers start in it, and paths of theirs are relative to it. */
  readonly workspacePath: string;
  /** Servers that are processes get the few variables of it that they need to run, never all. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The clock, in milliseconds. */
  readonly now: () => number;
  /** What makes the requests to a server over HTTP, for instance so that some addresses are refused. Default: `fetch`. */
  readonly fetchFor?: (server: McpServer) => FetchLike;
  /** Who lets us in, by server; undefined for servers without OAuth. */
  readonly authorizationOf?: (server: McpServer) => McpAuthorization | undefined;
}

/** A way to a server that is not yet open. */
export interface McpTransport {
  readonly transport: Transport;
  /** Why it closed; empty when it cannot tell. */
  readonly closeReason: () => string;
  /** Tells the server that the session is over, where there is one; may fail. */
  readonly leave: () => Promise<void>;
  /** Ends a journey to the authorization server; undefined when there is none to make. */
  readonly authorize: ((signal: AbortSignal) => Promise<void>) | undefined;
}

/** The variables that a process needs to run; whatever else a server needs is written in its settings. */
const INHERITED = ["HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"] as const;

/** Makes the transport of a server. Throws for a server whose settings say no way to reach it. */
export async function createTransport(server: McpServer, options: TransportOptions): Promise<McpTransport> {
  switch (server.transport.case) {
    case "stdio":
      return stdioTransport(server.transport.value, options);
    case "http":
      return httpTransport(server.transport.value, waysTo(server, options));
    case "sse":
      return sseTransport(server.transport.value, waysTo(server, options));
    case undefined:
      throw invalid("mcp_servers", server.name, "says no way to reach it", "give stdio, http or sse");
    default:
      return server.transport satisfies never;
  }
}

async function stdioTransport(
  { command, args, env, workingDirectory }: McpStdio,
  { workspacePath, environment, now }: TransportOptions,
): Promise<McpTransport> {
  const { parseJSONRPCMessage } = await loadSdk();
  const inherited = INHERITED.flatMap((name) => {
    const value = environment[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  const transport = new StdioTransport(
    {
      command,
      args,
      workingDirectory: resolve(workspacePath, workingDirectory),
      environment: { ...Object.fromEntries(inherited), ...env },
    },
    { parseMessage: parseJSONRPCMessage, now },
  );
  return {
    transport,
    closeReason: () => transport.closeReason,
    leave: () => Promise.resolve(),
    authorize: undefined,
  };
}

/** What reaches a server over HTTP, and who lets us in. */
interface WaysTo {
  readonly fetch: FetchLike;
  readonly authorization: McpAuthorization | undefined;
}

function waysTo(server: McpServer, { fetchFor, authorizationOf }: TransportOptions): WaysTo {
  return {
    fetch: boundedFetch(fetchFor?.(server) ?? globalThis.fetch),
    authorization: authorizationOf?.(server),
  };
}

async function httpTransport({ url, headers }: McpHttp, { fetch, authorization }: WaysTo): Promise<McpTransport> {
  const { StreamableHTTPClientTransport } = await loadSdk();
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers },
    fetch,
    ...(authorization && { authProvider: authorization.provider }),
  });
  return {
    transport,
    closeReason: () => "",
    leave: () => transport.terminateSession(),
    authorize: authorizer(transport, authorization),
  };
}

async function sseTransport({ url, headers }: McpHttp, { fetch, authorization }: WaysTo): Promise<McpTransport> {
  const { SSEClientTransport } = await loadSdk();
  const transport = new SSEClientTransport(new URL(url), {
    requestInit: { headers },
    fetch,
    ...(authorization && { authProvider: authorization.provider }),
  });
  return {
    transport,
    closeReason: () => "",
    leave: () => Promise.resolve(),
    authorize: authorizer(transport, authorization),
  };
}

interface Authorizing {
  finishAuth(parameters: URLSearchParams): Promise<void>;
}

function authorizer(
  transport: Authorizing,
  authorization: McpAuthorization | undefined,
): McpTransport["authorize"] | undefined {
  const callback = authorization?.callback;
  return callback && (async (signal) => transport.finishAuth(await callback(signal)));
}
