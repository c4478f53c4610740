import {
  type AuthInfo,
  type Server,
  type ServerContext,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import type { PortTasks } from "./port.ts";

/** The maximum number of sessions of a caller; a further one ends the oldest. */
const MAX_SESSIONS = 64;

/** One request of a session. */
export interface SessionRequest {
  readonly request: Request;
  readonly body: unknown;
  /** The caller, to whom a session belongs. */
  readonly principal: string;
  /** The tasks of the caller, for as long as the session lasts. */
  readonly tasks: PortTasks;
}

/**
 * The sessions of hosts that speak a revision before 2026-07-28 over HTTP: a
 * server asks such a host within a session. Only who asks whom is kept in them:
 * a host whose session is lost begins another one, and finds its tasks.
 */
export class McpSessions {
  readonly #create: (tasksOf: (context: ServerContext) => PortTasks) => Server;
  readonly #nextId: () => string;
  readonly #sessions = new Map<string, Session>();
  readonly #tasks = new WeakMap<AuthInfo, PortTasks>();

  constructor(
    create: (tasksOf: (context: ServerContext) => PortTasks) => Server,
    nextId: () => string,
    shutdown: AbortSignal,
  ) {
    this.#create = create;
    this.#nextId = nextId;
    shutdown.addEventListener("abort", () => this.#closeAll(), { once: true });
  }

  /** Answers a request of a session, or one that begins a session. */
  async answer({
    request,
    body,
    principal,
    tasks,
  }: SessionRequest): Promise<Response> {
    const id = request.headers.get("mcp-session-id");
    const known = id === null ? undefined : this.#sessions.get(id);
    if (id !== null && known?.principal !== principal) {
      const error = {
        code: -32_001,
        message: "Session not found: begin another one with initialize",
      };
      return Response.json(
        { jsonrpc: "2.0", id: null, error },
        { status: 404 },
      );
    }
    const { transport } = known ?? (await this.#begin(principal));
    const authInfo = { token: "", clientId: principal, scopes: [] };
    this.#tasks.set(authInfo, tasks);
    return transport.handleRequest(request, {
      authInfo,
      ...(body !== undefined && { parsedBody: body }),
    });
  }

  async #begin(principal: string): Promise<Session> {
    const server = this.#create(({ http }) => {
      const tasks = http?.authInfo && this.#tasks.get(http.authInfo);
      if (!tasks) throw new Error("a request of a session has no caller");
      return tasks;
    });
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: this.#nextId,
      onsessioninitialized: (id) => {
        this.#endOldest(principal);
        this.#sessions.set(id, session);
      },
      onsessionclosed: (id) => {
        this.#sessions.delete(id);
      },
    });
    const session = { transport, principal };
    await server.connect(transport);
    return session;
  }

  /** Ends the oldest session of a caller that has as many as it may have. */
  #endOldest(principal: string): void {
    const own = [...this.#sessions].filter(
      ([, session]) => session.principal === principal,
    );
    const [oldest] = own;
    if (!oldest || own.length < MAX_SESSIONS) return;
    const [id, { transport }] = oldest;
    this.#sessions.delete(id);
    void transport.close();
  }

  #closeAll(): void {
    for (const { transport } of this.#sessions.values()) void transport.close();
    this.#sessions.clear();
  }
}

interface Session {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly principal: string;
}
