import { isIP } from "node:net";
import { ApprovalMode, type McpServer, type Task } from "@devtool/schema";
import type { AgentExecutor } from "./agent/agent-executor.ts";
import type { Model } from "./agent/model.ts";
import { invalid } from "./errors.ts";
import type { Right } from "./handler/caller.ts";
import type { McpAuthorization } from "./tool/mcp/mcp-transport.ts";
import type { Skill } from "./transport/a2a_v03/card.ts";
import type { JwtOptions } from "./transport/auth/jwt-authenticator.ts";
import type { TlsOptions } from "./transport/sniffing-server.ts";

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
  /** A shell command may take so many milliseconds. Default 10 minutes. */
  readonly commandTimeoutMs: number;
  /** So many characters of a command's output are kept, the newest. Default 65536. */
  readonly maxOutputBytes: number;
}

/** What the agent card says of an agent. */
export interface About {
  readonly name: string;
  readonly description: string;
  /** What it can do. Default: what our coding agent can. */
  readonly skills?: readonly Skill[];
  /** The media types of what it answers with; who takes none of them gets no answer. Default: text and JSON. */
  readonly outputModes?: readonly string[];
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

/** What a server is made of. Everything has a default; without any it serves the scripted agent from memory. */
export interface ServerOptions {
  /** The workspace of clients that name none: an absolute path that exists. Default: none, so a client must name one. */
  readonly workspace?: string;
  /** The directories in which workspaces may lie. Default: the workspace alone. */
  readonly workspaceRoots?: readonly string[];
  /** Keeps tasks in a SQLite file in this directory, made when it is missing. Default: in memory. */
  readonly dataDirectory?: string;
  /** The address to bind. Default 127.0.0.1; another one than loopback needs `token`. */
  readonly host?: string;
  /** The port to bind. Default 0: a free one. */
  readonly port?: number;
  /** The bearer token. Default: 256 random bits, new for each start. */
  readonly token?: string;
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
   * What becomes of a request without credentials. `admit` lets it in as a principal that may nothing special; only on
   * loopback, and only before an agent of one's own (`createAgent`), since ours has tools. Default: it is refused.
   */
  readonly anonymous?: "refuse" | "admit";
  /** Further values of the Host header to serve, each with its port. */
  readonly allowedHosts?: readonly string[];
  /** The origins of web pages that may call. Default: none. */
  readonly allowedOrigins?: readonly string[];
  /** Makes the agent of a task, in place of the coding agent; there are no slash commands then. Default: the coding agent. */
  readonly createAgent?: (task: Task) => AgentExecutor;
  /** What the card says of the agent. Default: that it is a coding agent. */
  readonly about?: About;
  /** How A2A 1.0 is spoken, where there is a choice. */
  readonly a2a?: A2aOptions;
  /** Who thinks. Default: the scripted model, which needs no key. */
  readonly model?: Model;
  /** The MCP servers of every session. Default: none. */
  readonly mcpServers?: readonly McpServer[];
  /** Which MCP servers clients may add to their sessions. Default: those that are reached over HTTP. */
  readonly clientMcpServers?: "none" | "http" | "all";
  /** Who lets us in to an MCP server that wants OAuth; undefined for one that does not. Default: none does. */
  readonly authorizeMcpServer?: (server: McpServer) => McpAuthorization | undefined;
  /** What confines the processes of tools. Default `auto`: bubblewrap where it works, nothing elsewhere. */
  readonly sandbox?: "auto" | "none" | "bwrap";
  /** The operator's policy files: absolute paths. They outrank `policy.toml` in the data directory. Default: none. */
  readonly policyFiles?: readonly string[];
  /** What `web_fetch` may reach although it is not public, as `host:port`. Default: nothing. */
  readonly fetchTargets?: readonly string[];
  /** What notifications may be posted to although it is not public or not https, as `host:port`. Default: nothing. */
  readonly pushTargets?: readonly string[];
  /** How far agents may go without asking; a session can only narrow it. Default: ask before every change. */
  readonly approvalMode?: ApprovalMode;
  /** Whether clients must know the extension (CARD-1). Default false. */
  readonly extensionRequired?: boolean;
  /** For so many milliseconds the same message is a retry (STREAM-7); 0 turns it off. Default 10 minutes. */
  readonly retryWindowMs?: number;
  /** When it stops, requests have so many milliseconds to end. Default 10 seconds. */
  readonly drainMs?: number;
  /** Takes what an operator should know, in words: a sandbox or an MCP server that is not there. Default: standard error. */
  readonly onNotice?: (text: string) => void;
  /** Takes what went wrong inside, for the operator's log. Default: standard error. */
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
    commandTimeoutMs: 10 * 60_000,
    maxOutputBytes: 64 * 1024,
    ...limits,
  };
}

/** The stricter of the operator's mode and a session's: a session can only narrow (SESSION-3). */
export function narrower(operator: ApprovalMode, session: ApprovalMode): ApprovalMode {
  if (session === ApprovalMode.UNSPECIFIED) return operator || ApprovalMode.DEFAULT;
  return FREEDOM.indexOf(session) < FREEDOM.indexOf(operator || ApprovalMode.DEFAULT)
    ? session
    : operator || ApprovalMode.DEFAULT;
}

/** The modes, the strictest first. */
const FREEDOM = [ApprovalMode.PLAN, ApprovalMode.DEFAULT, ApprovalMode.AUTO_EDIT, ApprovalMode.YOLO];

/** Throws a `DevtoolError` for options that would let in who must not be: other machines, or anybody to an agent with tools. */
export function assertLetsInRightly(options: ServerOptions): void {
  assertBindable(options);
  assertNobodyReachesTools(options);
}

function assertBindable({ host = "127.0.0.1", token }: ServerOptions): void {
  if (!isLoopback(host) && token === undefined) {
    throw invalid("host", host, "is reachable from other machines: choose 127.0.0.1, or set a token of your own");
  }
}

/** Who is let in without credentials may be anybody on this machine: nobody else, and no agent with tools. */
function assertNobodyReachesTools({ anonymous, host = "127.0.0.1", createAgent }: ServerOptions): void {
  if (anonymous !== "admit") return;
  if (!isLoopback(host))
    throw invalid("anonymous", "admit", `would let in other machines at ${host}: choose 127.0.0.1`);
  if (!createAgent) {
    throw invalid("anonymous", "admit", "would give everybody the tools of the coding agent: set createAgent too");
  }
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}
