import { resolve } from "node:path";
import type { Mcp } from "@devtool/coding-agent/tool";
import { defined, plainJson } from "@devtool/internal/json";
import { type JsonLine, JsonLines } from "@devtool/internal/json-lines";
import { unmarkLongIds } from "@devtool/internal/long-ids";
import type { McpHttp, McpServer, McpStdio } from "@devtool/schema";
import {
  assertWorkspaceInPlace,
  Code,
  DevtoolError,
  inheritedEnvironment,
  invalid,
  quoted,
  type StdioCommand,
} from "@devtool/server/agent";
import type {
  AuthProvider,
  FetchLike,
  JSONRPCMessage,
  OAuthClientProvider,
  Transport,
} from "@modelcontextprotocol/client";
import { boundedFetch } from "./bounded-fetch.ts";
import { describeError } from "./describe-error.ts";
import { FloodGate } from "./flood-gate.ts";
import { type MessageReader, parseMessage } from "./message-reader.ts";
import { readingFetch } from "./reading-fetch.ts";
import { loadSdk } from "./sdk.ts";
import { StdioTransport } from "./stdio-transport.ts";

type McpServices = Parameters<Mcp["open"]>[0];

/** How the agent is authorized at an MCP server that requires OAuth. */
export interface McpAuthorization {
  /**
   * The provider of the SDK. It stores tokens, adds them to requests, and sends
   * the user to the authorization server.
   */
  readonly provider: AuthProvider | OAuthClientProvider;
  /**
   * Waits until the user returns from the authorization server. Resolves to the
   * parameters of the redirect.
   *
   * Default: no user can be sent, so a server that needs consent fails.
   */
  readonly callback?: (signal: AbortSignal) => Promise<URLSearchParams>;
}

/** How servers are reached. */
export interface TransportOptions {
  /**
   * The absolute path of the workspace. Servers start in it, and their paths
   * are relative to it.
   */
  readonly workspacePath: string;
  /**
   * The environment of this process. Servers that are processes inherit only a
   * few variables of it.
   */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The clock, in milliseconds. */
  readonly now: () => number;
  /**
   * Returns a command that starts another one in the sandbox. Default: none can,
   * so that a server with `sandbox` does not start.
   */
  readonly confine?: McpServices["confine"];
  /**
   * Returns the fetch for a server over HTTP, for instance one that refuses
   * some addresses. Default: the global `fetch`.
   */
  readonly fetchFor?: (server: McpServer) => FetchLike;
  /**
   * Returns how to authorize at a server; undefined for a server without OAuth.
   * Default: no server has it.
   */
  readonly authorizationOf?:
    | ((server: McpServer) => McpAuthorization | undefined)
    | undefined;
}

/** A transport to a server that is not open yet. */
export interface McpTransport {
  readonly transport: Transport;
  /** Returns why the transport closed; empty when it does not know. */
  readonly closeReason: () => string;
  /** Whether the server gave the connection a session. */
  readonly hasSession: () => boolean;
  /**
   * Ends the session at the server, if the transport has sessions. May reject.
   */
  readonly leave: () => Promise<void>;
  /**
   * Waits for the user's consent and exchanges it for tokens; undefined when no
   * user can be sent.
   */
  readonly authorize: ((signal: AbortSignal) => Promise<void>) | undefined;
}

/**
 * Creates the transport of a server, whose messages `reader` reads. Throws for a
 * server without a transport in its settings, and for a process in a workspace
 * that is not where it was.
 */
export async function createTransport(
  server: McpServer,
  options: TransportOptions,
  reader: MessageReader,
): Promise<McpTransport> {
  switch (server.transport.case) {
    case "stdio":
      return createStdioTransport(
        server,
        server.transport.value,
        options,
        reader,
      );
    case "http":
    case "sse":
      return createHttpTransport(server, server.transport, options, reader);
    case undefined:
      throw invalid(
        "mcp_servers",
        server.name,
        "has no transport",
        "give stdio, http or sse",
      );
    default:
      return server.transport satisfies never;
  }
}

async function createStdioTransport(
  server: McpServer,
  { command, args, env, workingDirectory }: McpStdio,
  options: TransportOptions,
  reader: MessageReader,
): Promise<McpTransport> {
  const { workspacePath, environment, now } = options;
  const { parseJSONRPCMessage } = await loadSdk();
  assertWorkspaceInPlace(workspacePath);
  const lines = new JsonLines(parseMessage);
  const program = {
    command,
    args,
    workingDirectory: resolve(workspacePath, workingDirectory),
    // Other variables that a server needs are in its settings.
    environment: { ...inheritedEnvironment(environment), ...env },
  };
  const transport = new StdioTransport(
    server.sandbox ? await confined(server, program, options) : program,
    {
      read: (line) => readLine(lines.read(line), reader, parseJSONRPCMessage),
      write: (message) =>
        unmarkLongIds(JSON.stringify(reader.send(plainJson(message)))),
      now,
    },
  );
  return {
    transport,
    closeReason: () => transport.closeReason,
    hasSession: () => false,
    leave: () => Promise.resolve(),
    authorize: undefined,
  };
}

/**
 * Returns the command of a server in the sandbox. Throws
 * `Code.FailedPrecondition` where there is none: it never runs without.
 */
async function confined(
  { name }: McpServer,
  program: StdioCommand,
  { workspacePath, confine }: TransportOptions,
): Promise<StdioCommand> {
  try {
    if (!confine) throw new Error("this agent has no sandbox");
    return await confine(program, workspacePath);
  } catch (reason) {
    const { message } = DevtoolError.from(reason);
    throw new DevtoolError(
      `MCP server ${quoted(name)} is not started, since it has sandbox = true: ${message}`,
      Code.FailedPrecondition,
      { cause: reason },
    );
  }
}

/** Reads the messages of a line. Throws when it holds none. */
function readLine(
  { values, broken, cut }: JsonLine,
  reader: MessageReader,
  parse: (value: unknown) => JSONRPCMessage,
): JSONRPCMessage[] {
  const read = [
    ...values.flatMap((value) => reader.read(value)),
    ...[...broken, cut].flatMap((text) => reader.failText(text)),
  ];
  if (read.length === 0) throw new SyntaxError("it holds no message");
  return read.map(parse);
}

/**
 * Creates the transport of Streamable HTTP (`http`), or of the older protocol
 * with a separate event stream (`sse`). It closes when the server floods it.
 */
async function createHttpTransport(
  server: McpServer,
  {
    case: protocol,
    value,
  }: { readonly case: "http" | "sse"; readonly value: McpHttp },
  { fetchFor, authorizationOf, now }: TransportOptions,
  reader: MessageReader,
): Promise<McpTransport> {
  const { SSEClientTransport, StreamableHTTPClientTransport } = await loadSdk();
  const authorization = authorizationOf?.(server);
  const gate = new FloodGate(now);
  let closeReason = "";
  const count: FloodGate["count"] = (messages, bytes) => {
    try {
      gate.count(messages, bytes);
    } catch (reason) {
      closeReason = describeError(reason);
      // Otherwise the SDK opens a stream that has failed again, without end.
      transport.close().catch(() => undefined);
      throw reason;
    }
  };
  const fetch = boundedFetch(fetchFor?.(server) ?? globalThis.fetch);
  const settings = defined({
    requestInit: { headers: value.headers },
    fetch: readingFetch(fetch, reader, protocol, { count }),
    authProvider: authorization?.provider,
  });
  const address = new URL(value.url);
  const transport =
    protocol === "sse"
      ? new SSEClientTransport(address, settings)
      : new StreamableHTTPClientTransport(address, settings);
  const callback = authorization?.callback;
  return {
    transport,
    closeReason: () => closeReason,
    hasSession: () =>
      transport instanceof StreamableHTTPClientTransport &&
      transport.sessionId !== undefined,
    leave: async () => {
      // Only Streamable HTTP has sessions.
      if (transport instanceof StreamableHTTPClientTransport) {
        await transport.terminateSession();
      }
    },
    authorize:
      callback &&
      (async (signal) => transport.finishAuth(await callback(signal))),
  };
}
