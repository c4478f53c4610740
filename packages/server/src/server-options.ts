import type { Interceptor } from "@connectrpc/connect";
import type { BudgetConfig, TaskState } from "@devtool/schema";
import type { Agent } from "./agent/agent.ts";
import type { AgentSourceOptions } from "./discovery/agent-sources.ts";
import type { Right } from "./handler/caller.ts";
import type { Observer } from "./observer.ts";
import type { StaticSite } from "./static-site.ts";
import type { ServerStore } from "./store/task-store.ts";
import type { A2aOptions } from "./transport/a2a/a2a-options.ts";
import type { JwtOptions } from "./transport/auth/jwt-authenticator.ts";
import type { RoleSettings } from "./transport/auth/role-authenticator.ts";
import type { Dialect } from "./transport/dialect.ts";
import type { TlsOptions } from "./transport/http/sniffing-server.ts";

/**
 * The limits of a server. A request beyond one of them gets an error that
 * quotes the limit (ERR-2).
 */
export interface ServerLimits {
  /**
   * The maximum size of a request in bytes. A larger one is refused
   * without reading the rest of it: with HTTP status 413, over Connect and gRPC
   * as `resource_exhausted`. Default 4 MiB.
   */
  readonly maxRequestBytes: number;

  /**
   * The maximum number of parts of a message. One with more is refused as
   * `invalid_argument`. Default 256.
   */
  readonly maxParts: number;

  /**
   * The maximum number of open sockets. Beyond it, the server closes the oldest
   * one on which nobody has authenticated, or else the new one. Default 4096.
   */
  readonly maxConnections: number;

  /**
   * The maximum number of open streams on one HTTP/2 connection. Clients learn
   * it when they connect, and wait with further ones. Default 100.
   */
  readonly maxConcurrentStreams: number;

  /**
   * The maximum number of streams that one caller has open, over all
   * connections: subscriptions, streamed messages and streamed commands. A
   * further one is refused as `resource_exhausted`, and starts nothing. Default
   * 1000.
   */
  readonly maxStreamsPerCaller: number;
}

/**
 * Authentication of callers other than the operator. Each caller is a principal
 * with tasks of its own.
 */
export interface AuthenticationSettings {
  /** Accepts the JSON Web Tokens of one issuer. Default: none. */
  readonly jwt?: JwtOptions | undefined;

  /**
   * The rights of callers that authenticate with a client certificate
   * (`tls.clientAuthorities`). Default: none, so they can neither approve tool
   * calls nor read the audit log.
   */
  readonly certificateRights?: readonly Right[] | undefined;

  /**
   * The attribute of a client certificate's subject that names the caller's
   * roles. Default: these callers have none.
   */
  readonly certificateRolesAttribute?: "O" | "OU" | undefined;

  /**
   * What the callers of each role may do. A caller has what its roles give
   * together, and nothing else; the operator has all rights.
   *
   * Cannot be used together with `certificateRights` and with the scopes of
   * `jwt`. Default: every caller may work with tasks of its own.
   */
  readonly roles?: readonly RoleSettings[] | undefined;
}

/**
 * The options of `createServer`.
 *
 * Only `agents` is required. By default the server listens on a free port of
 * 127.0.0.1, requires a random token, and keeps its tasks in memory.
 */
export interface ServerOptions extends ServerSettings {
  /**
   * The agents to serve, by the names with which clients choose them. A name
   * consists of letters, digits, `-` and `_`. They are opened in this order,
   * one after the other.
   */
  readonly agents: Readonly<Record<string, Agent>>;

  /**
   * The name of the agent for clients that choose none. Default: the first of
   * `agents`.
   */
  readonly defaultAgent?: string | undefined;
}

/**
 * The options of `createHandler`, which mounts a server in the HTTP server of
 * an application.
 *
 * The application decides how to listen, which certificate to use and how many
 * connections to accept.
 */
export interface HandlerOptions
  extends Omit<
    ServerOptions,
    | "host"
    | "port"
    | "listenFd"
    | "publicUrl"
    | "tls"
    | "tlsEndedByProxy"
    | "anonymous"
  > {
  /**
   * The URL at which clients reach the handler, for instance
   * `https://app.example/api`. The agent card and other documents contain
   * addresses below it.
   *
   * Must have a path: the one where the application mounts the handler. Must
   * begin with `https://`, except on loopback.
   */
  readonly publicUrl: string;
}

/** The options of a server that do not depend on its agents. */
export interface ServerSettings {
  /**
   * The workspace of clients that name none: an absolute path of an existing
   * directory. Default: none, and clients must name one.
   */
  readonly workspace?: string | undefined;

  /**
   * The directories that may contain workspaces: absolute paths. Default: only
   * `workspace` itself.
   */
  readonly workspaceRoots?: readonly string[] | undefined;

  /**
   * The directory in which the server keeps its tasks, in a SQLite file.
   * Created when it is missing, for the user of the process alone. Default:
   * tasks are kept in memory and lost at the end.
   */
  readonly dataDirectory?: string | undefined;

  /**
   * Opens the store of the tasks, for instance `PostgresStore` of
   * `@devtool/postgres`. Is given `dataDirectory`, which exists then. The server
   * closes it. Default: the file in `dataDirectory`, or memory without one.
   *
   * Servers may share a store that has leases: each task is run by one of them,
   * and any of them streams it.
   */
  readonly openStore?:
    | ((place: Pick<ServerSettings, "dataDirectory">) => Promise<ServerStore>)
    | undefined;

  /**
   * The path of the SQLite file with the tasks and the audit log, relative to
   * `dataDirectory`. Default `tasks.db`.
   *
   * Only one server can use a file at a time; another one does not start. A
   * second server that shares the rules, approvals and trust in the data
   * directory must name another file.
   */
  readonly taskFile?: string | undefined;

  /**
   * The address to bind. Default 127.0.0.1.
   *
   * An address that other machines can reach requires TLS (`tls` or
   * `tlsEndedByProxy`) and credentials (`token`, `authentication.jwt` or
   * `tls.clientAuthorities`). A wildcard address such as `0.0.0.0` also
   * requires `publicUrl`.
   */
  readonly host?: string | undefined;

  /**
   * The port to bind. Default 0: any free port, which `DevtoolServer.url` has
   * then.
   */
  readonly port?: number | undefined;

  /**
   * The file descriptor of a socket that is already bound, as a service manager
   * passes it (`sd_listen_fds(3)`). It takes the place of `port`, and must be
   * bound to the address `host`: otherwise the server does not start.
   */
  readonly listenFd?: number | undefined;

  /**
   * The operator's bearer token, which permits everything. Default: 256 random
   * bits, new at each start.
   */
  readonly token?: string | undefined;

  /**
   * The URL at which clients reach the server when it differs from the address
   * that it binds, for instance behind a proxy. The agent card and other
   * documents contain addresses below it. Default: the bound address.
   *
   * Must begin with `https://`, except on loopback. A path is the prefix that
   * the proxy removes.
   */
  readonly publicUrl?: string | undefined;

  /**
   * Whether a proxy terminates TLS in front of the server, so that the server
   * may listen without TLS on an address that other machines can reach. Default
   * false.
   */
  readonly tlsEndedByProxy?: boolean | undefined;

  /**
   * The certificate with which the server terminates TLS. With
   * `clientAuthorities`, client certificates are accepted in place of a token.
   * Default: no TLS.
   */
  readonly tls?: TlsOptions | undefined;

  /**
   * Authentication of callers other than the operator. Default: only the
   * operator's token is accepted.
   */
  readonly authentication?: AuthenticationSettings | undefined;

  /**
   * How to handle a request without credentials. Default `refuse`.
   *
   * `admit` accepts it; all such requests share one principal without special
   * rights. Allowed only on loopback, and only when every agent sets
   * `servesAnonymous`.
   */
  readonly anonymous?: "refuse" | "admit" | undefined;

  /**
   * Additional values of the Host header to accept: `name:port`, or `name` for
   * any port. The server always accepts its own address and `publicUrl`; other
   * values are refused, against DNS rebinding.
   */
  readonly allowedHosts?: readonly string[] | undefined;

  /**
   * The origins of web pages that may call the server (CORS), as browsers send
   * them: scheme, host and port, without a path. Default: none.
   */
  readonly allowedOrigins?: readonly string[] | undefined;

  /**
   * Pages for web browsers, such as `await loadConsole()` of
   * `@devtool/console`. With them, pages of the server's own origins may call
   * it, and browsers authenticate with one-time codes (`BrowserAccessService`).
   * Default: none.
   */
  readonly site?: StaticSite | undefined;

  /**
   * The forms in which the server shows its tasks: the first route that matches
   * a request answers it. What is not given here is not loaded. Default:
   * `defaultDialects()`.
   */
  readonly dialects?: readonly Dialect[] | undefined;

  /** Options of A2A. */
  readonly a2a?: A2aOptions | undefined;

  /**
   * Which MCP servers clients may add to their sessions. `http` excludes
   * servers that are started as a command on this machine. A session with
   * another one is refused as `invalid_argument`. Default `http`.
   */
  readonly clientMcpServers?: "none" | "http" | "all" | undefined;

  /**
   * Webhook targets that are allowed although they are not public or not https,
   * as `host:port` or `host:*`. Default: none.
   */
  readonly pushTargets?: readonly string[] | undefined;

  /**
   * Which agents elsewhere are found, beside those that callers register. Default:
   * none.
   */
  readonly agentRegistry?: AgentSourceOptions | undefined;

  /**
   * Whether A2A clients must activate the development-tool extension (CARD-1).
   * Default false.
   */
  readonly extensionRequired?: boolean | undefined;

  /**
   * The time in milliseconds in which a message with a known id is treated as a
   * retry when it is equal, and refused as `already_exists` when it is not
   * (STREAM-7). 0 turns both off. Default 10 minutes.
   */
  readonly retryWindowMs?: number | undefined;

  /**
   * When the server deletes tasks that have ended, of all principals: those
   * without a change for a time in milliseconds, and all but a number of tasks
   * that changed last, or a size in bytes of their events; only those in some
   * states, unless all that have ended. Default: never.
   */
  readonly retention?:
    | {
        readonly maxAgeMs?: number | undefined;
        readonly maxTasks?: number | undefined;
        readonly maxBytes?: number | undefined;
        readonly states?: readonly TaskState[] | undefined;
      }
    | undefined;

  /**
   * The time in milliseconds that running requests have to end when the server
   * closes. After it, the server closes their connections. Default 10 seconds.
   */
  readonly drainMs?: number | undefined;

  /**
   * Receives messages for the operator, for instance that a sandbox or an MCP
   * server is missing. They may contain text from outside. Default: written to
   * standard error, with control characters escaped.
   */
  readonly onNotice?: ((text: string) => void) | undefined;

  /**
   * Receives internal errors for the operator's log. Default: written to
   * standard error, with control characters escaped.
   */
  readonly onError?: ((reason: unknown) => void) | undefined;

  /**
   * Surround each method of the services, over every protocol and in this
   * order: they see its request and answer, can replace both, and can refuse it
   * by throwing a `ConnectError`. Rights are checked after them. Default: none.
   */
  readonly interceptors?: readonly Interceptor[] | undefined;

  /**
   * Hears what the server does: requests, turns of agents, steps of models, tool
   * calls, questions, appends and posts, each when it begins and when it ends.
   * Default: none.
   */
  readonly observer?: Observer | undefined;

  /**
   * Limits of what the turns of agents use. Default: none, but those of clients
   * for their own turns.
   */
  readonly budget?: BudgetConfig | undefined;

  /** Changes to the default limits. */
  readonly limits?: Partial<ServerLimits> | undefined;
}

/** Returns limits with the defaults filled in. */
export function limitsWithDefaults(
  limits: Partial<ServerLimits> = {},
): ServerLimits {
  return {
    maxRequestBytes: 4 * 1024 * 1024,
    maxParts: 256,
    maxConnections: 4096,
    maxConcurrentStreams: 100,
    maxStreamsPerCaller: 1000,
    ...limits,
  };
}
