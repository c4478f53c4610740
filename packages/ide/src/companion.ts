import { randomBytes } from "node:crypto";
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import { BlockList, isIP } from "node:net";
import type { Duplex } from "node:stream";
import { ClientSession } from "./client-session.ts";
import { claudeDialect } from "./dialect/claude.ts";
import type { Dialect } from "./dialect/dialect.ts";
import { geminiCliDialect } from "./dialect/gemini-cli.ts";
import { DiscoveryFiles } from "./discovery/discovery-files.ts";
import type { Editor } from "./editor.ts";
import { OpenDiffs } from "./open-diffs.ts";
import { refusalOf } from "./transport/guard.ts";
import {
  type MakeSession,
  StreamableHttp,
} from "./transport/streamable-http.ts";
import { WebSockets } from "./transport/web-socket.ts";
import { VERSION } from "./version.ts";

/** How a companion is started. */
export interface CompanionOptions {
  /**
   * The process of the editor, from which its terminals descend. Default: the
   * parent of this process.
   */
  readonly editorPid?: number;
  /**
   * Whether agents in containers may connect, by the name
   * `host.docker.internal`. Where that name leads to the loopback interface, as
   * in Docker Desktop, `true` is enough. On Linux, `address` is that of the
   * containers' bridge on this machine, such as `172.17.0.1`; it must be a
   * private one. Default: false.
   */
  readonly allowContainers?: boolean | { readonly address: string };
  /** Default: this process's environment variables. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** A running companion. */
export interface Companion {
  /** The port on the loopback interface. */
  readonly port: number;
  /**
   * The environment variables for terminals of the editor, by which agents in
   * them find this companion before any other. They change with the workspace
   * folders, and hold the token.
   */
  readonly environment: Readonly<Record<string, string>>;
  /**
   * Why files for agents could not be written, or removed by `close`, a text
   * for each.
   */
  readonly problems: readonly string[];
  /** Ends all sessions, closes their diffs and removes the files. */
  close(): Promise<void>;
}

/**
 * Starts a companion for an editor: a server on the loopback interface, and the
 * files by which Gemini CLI, Qwen Code and Claude Code find it.
 *
 * Rejects when no port can be opened, also at the address for containers, or
 * the editor cannot be followed.
 */
export async function startCompanion(
  editor: Editor,
  options: CompanionOptions = {},
): Promise<Companion> {
  const { env = process.env, editorPid = process.ppid } = options;
  const diffs = new OpenDiffs(editor);
  const makes =
    (dialect: Dialect): MakeSession =>
    (isSlow) =>
      new ClientSession({ dialect, editor, diffs, version: VERSION, isSlow });
  const http = new StreamableHttp(makes(geminiCliDialect));
  const sockets = new WebSockets(makes(claudeDialect));

  const token = randomBytes(24).toString("hex");
  const { allowContainers = false } = options;
  const { port, servers } = await openServers(allowContainers);
  const ends = servers.map(({ server, hosts }) =>
    admit(server, { hosts, token }, http, sockets),
  );
  const endServers = async (): Promise<void> => {
    await Promise.all(ends.map((end) => end()));
  };
  const announcement = {
    port,
    token,
    pid: editorPid,
    companionPid: process.pid,
    editor,
  };
  const files = new DiscoveryFiles(announcement, env);
  const following = followEditor(editor, files, () => [
    ...http.sessions(),
    ...sockets.sessions(),
  ]);
  const changes = await following.catch(async (reason) => {
    await endServers();
    throw reason;
  });

  return {
    port,
    get environment() {
      return files.environment;
    },
    get problems() {
      return files.problems;
    },
    async close() {
      try {
        await changes.end();
        await files.remove();
        await Promise.all([http.close(), sockets.close()]);
      } finally {
        await endServers();
      }
    },
  };
}

/** A server that listens, and what clients may call its host. */
interface OpenServer {
  readonly server: Server;
  readonly hosts: readonly string[];
}

/**
 * Listens at a free port of the loopback interface, and at the same port of the
 * address for containers.
 */
async function openServers(
  allowContainers: NonNullable<CompanionOptions["allowContainers"]>,
): Promise<{
  readonly port: number;
  readonly servers: readonly OpenServer[];
}> {
  const address =
    typeof allowContainers === "object" ? allowContainers.address : undefined;
  if (address !== undefined) assertPrivateAddress(address);
  const server = createServer(SERVER_OPTIONS);
  const port = await listen(server, 0, "127.0.0.1");
  const names = ["127.0.0.1", "localhost"];
  if (allowContainers === true) names.push(CONTAINER_HOST);
  const open = { server, hosts: names.map((name) => `${name}:${port}`) };
  if (address === undefined) return { port, servers: [open] };
  const other = createServer(SERVER_OPTIONS);
  try {
    await listen(other, port, address);
  } catch (cause) {
    server.close();
    throw new Error(
      `port ${port} of address "${address}" cannot be opened for containers: ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause },
    );
  }
  const hosts = [`${CONTAINER_HOST}:${port}`];
  return { port, servers: [open, { server: other, hosts }] };
}

const SERVER_OPTIONS = { headersTimeout: 10_000 } as const;

/** What agents in containers call the host. */
const CONTAINER_HOST = "host.docker.internal";

/** The addresses of networks that are not the internet. */
const PRIVATE = new BlockList();
PRIVATE.addSubnet("10.0.0.0", 8);
PRIVATE.addSubnet("172.16.0.0", 12);
PRIVATE.addSubnet("192.168.0.0", 16);
PRIVATE.addSubnet("fc00::", 7, "ipv6");

function assertPrivateAddress(address: string): void {
  const family = isIP(address) === 6 ? "ipv6" : "ipv4";
  if (isIP(address) !== 0 && PRIVATE.check(address, family)) return;
  throw new Error(
    `address "${address}" for containers is not a private IP address: give that of their bridge, such as 172.17.0.1`,
  );
}

/** Resolves to the port at which a server then listens. */
async function listen(
  server: Server,
  port: number,
  host: string,
): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  server.once("error", reject);
  server.listen(port, host, () => {
    const address = server.address();
    resolve(typeof address === "object" && address ? address.port : 0);
  });
  const opened = await promise;
  server.removeListener("error", reject);
  return opened;
}

/**
 * Hands what is admitted to the transports, and refuses the rest. Returns how
 * to end the server with all connections.
 */
function admit(
  server: Server,
  guard: Parameters<typeof refusalOf>[1],
  http: StreamableHttp,
  sockets: WebSockets,
): () => Promise<void> {
  // The server does not know connections that were upgraded.
  const upgraded = new Set<Duplex>();
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const refusal = refusalOf(request.headers, guard);
    if (refusal) return answer(response, refusal.status, refusal.message);
    const [path] = (request.url ?? "").split("?");
    if (path !== "/mcp") return answer(response, 404, "Not Found");
    http.handle(request, response).catch(() => {
      // The client is gone, or the companion ends.
      if (!response.headersSent) answer(response, 500, "Internal Error");
      response.destroy();
    });
  });
  server.on("upgrade", (request, socket: Duplex, head: Buffer) => {
    upgraded.add(socket);
    socket.once("close", () => upgraded.delete(socket));
    socket.on("error", () => socket.destroy());
    const refusal = refusalOf(request.headers, guard);
    if (!refusal && !sockets.isFull) {
      return sockets.accept(request, socket, head);
    }
    const status = refusal?.status ?? 503;
    // The client may keep its half open.
    socket.once("finish", () => socket.destroy());
    socket.end(
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`,
    );
  });
  return async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    server.close(() => resolve());
    server.closeAllConnections();
    for (const socket of upgraded) socket.destroy();
    await promise;
  };
}

function answer(
  response: ServerResponse,
  status: number,
  message: string,
): void {
  response.writeHead(status, { "content-type": "text/plain" });
  response.end(message);
}

/**
 * Writes the files, and again when other folders are open; tells the sessions
 * what changes in the editor. Resolves once the files are there.
 */
async function followEditor(
  editor: Editor,
  files: DiscoveryFiles,
  sessions: () => readonly ClientSession[],
): Promise<{ end(): Promise<void> }> {
  let folders = foldersOf(editor);
  let writing = Promise.resolve();
  const subscription = editor.onContext(() => {
    for (const session of sessions()) session.contextChanged();
    const now = foldersOf(editor);
    if (now === folders) return;
    folders = now;
    writing = writing.then(() => files.write());
  });
  writing = writing.then(() => files.write());
  await writing;
  return {
    async end() {
      subscription[Symbol.dispose]();
      await writing;
    },
  };
}

/** The folders that are open; undefined when the editor fails to say it. */
function foldersOf(editor: Editor): string | undefined {
  try {
    return editor.workspaceFolders().join("\n");
  } catch {
    return undefined;
  }
}
