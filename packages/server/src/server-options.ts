import type { Agent } from "./agent/agent.ts";
import type { Right } from "./handler/caller.ts";
import type { JwtOptions } from "./transport/auth/jwt-authenticator.ts";
import type { TlsOptions } from "./transport/http/sniffing-server.ts";

/** The bounds of a server; each answers with an error that gives the limit (ERR-2). */
export interface ServerLimits {
  /** A request may have so many bytes. Default 4 MiB. */
  readonly maxRequestBytes: number;
  /** A message may have so many parts. Default 256. */
  readonly maxParts: number;
  /** So many sockets may be open. Default 4096. */
  readonly maxConnections: number;
  /** So many streams may be open on one HTTP/2 connection. Default 100. */
  readonly maxConcurrentStreams: number;
  /** The maximum number of subscriptions, streamed messages and streamed commands that one caller may have open. Default 1000. */
  readonly maxStreamsPerCaller: number;
}

/** How A2A 1.0 is spoken, where its revisions and the kits that test it differ. */
export interface A2aOptions {
  /** The card for who names no version: that of 0.3 and 1.0 in one, or that of 1.0 alone. Default: both in one. */
  readonly unversionedCard?: "hybrid" | "v1";
  /** The revision whose codes and statuses errors have. Default 1.0.1. */
  readonly revision?: "1.0.0" | "1.0.1";
  /** What a message to an ended task does: begin a new task that goes on from it (STREAM-5), or fail. Default: the first. */
  readonly endedTask?: "continue" | "refuse";
  /** What becomes of a message without an id. Default: it is refused. */
  readonly missingMessageId?: "refuse" | "generate";
  /** The media types that parts of messages may have, where they say one. Default: all. */
  readonly inputModes?: readonly string[];
  /** Who gets the extended card: callers that are known, or all that are let in. Default: the first. */
  readonly extendedCard?: "known" | "everybody";
}

/** The options of a server. Everything but its agents has a default; without more it keeps its tasks in memory. */
export interface ServerOptions extends ServerSettings {
  /** The agents that it serves, by the names that clients choose them with: letters, digits, `-` and `_`. */
  readonly agents: Readonly<Record<string, Agent>>;
  /** The agent of clients that choose none. Default: the first of `agents`. */
  readonly defaultAgent?: string;
}

/**
 * The options of a server that is mounted in the HTTP server of an application (`createHandler`). How that listens, with which
 * certificate and how many connections it takes is the application's.
 */
export interface HandlerOptions
  extends Omit<ServerOptions, "host" | "port" | "publicUrl" | "tls" | "tlsEndedByProxy" | "anonymous"> {
  /**
   * The URL at which clients reach it, for instance `https://app.example/api`: all that it says of its addresses is made from
   * it. Its path is where the application mounts it, and may not be empty. Begins with https:// unless its host is loopback.
   */
  readonly publicUrl: string;
}

/** The options of a server, whichever agents it serves. */
export interface ServerSettings {
  /** The workspace of clients that name none: an absolute path that exists. Default: none, so a client must name one. */
  readonly workspace?: string;
  /** The directories in which workspaces may lie. Default: the workspace alone. */
  readonly workspaceRoots?: readonly string[];
  /** Keeps tasks in a SQLite file in this directory, made when it is missing. Default: in memory. */
  readonly dataDirectory?: string;
  /**
   * The SQLite file that keeps the tasks and the audit log, relative to the data directory. One server uses it at a time,
   * so a second server with the same rules, approvals and trust names another file. Default: `tasks.db`.
   */
  readonly taskFile?: string;
  /**
   * The address to bind. Default 127.0.0.1. One that other machines reach needs `tls` or `tlsEndedByProxy`, and `token`,
   * `authentication.jwt` or `tls.clientAuthorities`; one that stands for all addresses needs `publicUrl` too.
   */
  readonly host?: string;
  /** The port to bind. Default 0: a free one. */
  readonly port?: number;
  /** The bearer token. Default: 256 random bits, new for each start. */
  readonly token?: string;
  /**
   * The URL at which clients reach the server when that is not where it listens, for instance behind a proxy; all that the
   * server says of its addresses is made from it. Begins with https:// unless its host is loopback; a path is the prefix
   * that the proxy removes. Default: where the server listens.
   */
  readonly publicUrl?: string;
  /** Whether a proxy ends TLS in front of the server, so that it may listen without TLS beyond loopback. Default false. */
  readonly tlsEndedByProxy?: boolean;
  /** Listens with TLS, and with `clientAuthorities` takes client certificates in place of a token. Default: no TLS. */
  readonly tls?: TlsOptions;
  /** Who is let in besides the holder of the token, each as a principal of its own. Default: nobody. */
  readonly authentication?: {
    /** The tokens of one issuer. */
    readonly jwt?: JwtOptions;
    /** What callers may that are known by their certificate. Default: neither approve nor read the audit log. */
    readonly certificateRights?: readonly Right[];
  };
  /**
   * What becomes of a request without credentials. `admit` lets it in as a principal without special rights; only on
   * loopback, and only where every agent says that it `servesAnonymous`. Default: it is refused.
   */
  readonly anonymous?: "refuse" | "admit";
  /** Further values of the Host header to serve: `name:port`, or `name` for any port. */
  readonly allowedHosts?: readonly string[];
  /** The origins of web pages that may call and read the responses (CORS), as browsers write them. Default: none. */
  readonly allowedOrigins?: readonly string[];
  /** How A2A 1.0 is spoken, where there is a choice. */
  readonly a2a?: A2aOptions;
  /** Which MCP servers clients may add to their sessions. Default: those that are reached over HTTP. */
  readonly clientMcpServers?: "none" | "http" | "all";
  /** What notifications may be posted to although it is not public or not https, as `host:port`. Default: nothing. */
  readonly pushTargets?: readonly string[];
  /** Whether clients must know the extension (CARD-1). Default false. */
  readonly extensionRequired?: boolean;
  /** For this many milliseconds the same message is a retry, and another one under its id a conflict (STREAM-7); 0 turns both off. Default 10 minutes. */
  readonly retryWindowMs?: number;
  /** When it stops, requests have so many milliseconds to end. Default 10 seconds. */
  readonly drainMs?: number;
  /** Takes what an operator should know, in words: a sandbox or an MCP server that is not there. Words of others may be in it. Default: standard error, made visible. */
  readonly onNotice?: (text: string) => void;
  /** Takes what went wrong inside, for the operator's log. Default: standard error, made visible. */
  readonly onError?: (reason: unknown) => void;
  readonly limits?: Partial<ServerLimits>;
}

/** Limits with their defaults filled in. */
export function limitsOf(limits: Partial<ServerLimits> = {}): ServerLimits {
  return {
    maxRequestBytes: 4 * 1024 * 1024,
    maxParts: 256,
    maxConnections: 4096,
    maxConcurrentStreams: 100,
    maxStreamsPerCaller: 1000,
    ...limits,
  };
}
