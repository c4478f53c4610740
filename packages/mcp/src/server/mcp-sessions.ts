import {
  type AuthInfo,
  type Server,
  type ServerContext,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import type { PortTasks } from "./port.ts";

/**
 * The maximum number of sessions of a caller, and of all callers. A further one
 * ends the one that was used least recently: one without a response that is
 * still being sent, if there is one.
 */
const MAX_OWN_SESSIONS = 64;
const MAX_SESSIONS = 1024;

/** A session ends when its host asks nothing for this time, in milliseconds. */
const MAX_IDLE_MS = 3_600_000;

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
 *
 * A session with a response that is still being sent, such as a stream of
 * notifications, is not idle.
 */
export class McpSessions {
  readonly #create: (tasksOf: (context: ServerContext) => PortTasks) => Server;
  readonly #nextId: () => string;
  readonly #now: () => number;
  /** In the order of their last use. */
  readonly #sessions = new Map<string, Session>();
  readonly #tasks = new WeakMap<AuthInfo, PortTasks>();

  constructor(
    create: (tasksOf: (context: ServerContext) => PortTasks) => Server,
    { nextId, now }: SessionSources,
    shutdown: AbortSignal,
  ) {
    this.#create = create;
    this.#nextId = nextId;
    this.#now = now;
    shutdown.addEventListener("abort", () => this.#closeAll(), { once: true });
  }

  /**
   * Answers a request of a session, or one that begins a session. Resolves when
   * the response is sent.
   */
  async answer(
    { request, body, principal, tasks }: SessionRequest,
    send: (response: Response) => Promise<void>,
  ): Promise<void> {
    this.#endIdle();
    const id = request.headers.get("mcp-session-id");
    const known = id === null ? undefined : this.#sessions.get(id);
    if (id !== null && known?.principal !== principal) {
      const error = {
        code: -32_001,
        message: "Session not found: begin another one with initialize",
      };
      return send(
        Response.json({ jsonrpc: "2.0", id: null, error }, { status: 404 }),
      );
    }
    const session = known ?? (await this.#begin(principal));
    const authInfo = { token: "", clientId: principal, scopes: [] };
    this.#tasks.set(authInfo, tasks);
    session.responses++;
    try {
      const response = await session.transport.handleRequest(request, {
        authInfo,
        ...(body !== undefined && { parsedBody: body }),
      });
      await send(response);
    } finally {
      session.responses--;
      this.#use(id ?? session.transport.sessionId, session);
    }
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
        const own = [...this.#sessions.values()].filter(
          (other) => other.principal === principal,
        );
        if (own.length >= MAX_OWN_SESSIONS) this.#endOldest(own);
        if (this.#sessions.size >= MAX_SESSIONS) {
          this.#endOldest([...this.#sessions.values()]);
        }
        this.#sessions.set(id, session);
      },
      onsessionclosed: (id) => {
        this.#sessions.delete(id);
      },
    });
    const usedAtMs = this.#now();
    const session: Session = { transport, principal, usedAtMs, responses: 0 };
    await server.connect(transport);
    return session;
  }

  /** Notes that a session was used last, unless it has ended. */
  #use(id: string | undefined, session: Session): void {
    if (id === undefined || this.#sessions.get(id) !== session) return;
    session.usedAtMs = this.#now();
    this.#sessions.delete(id);
    this.#sessions.set(id, session);
  }

  #endIdle(): void {
    const since = this.#now() - MAX_IDLE_MS;
    for (const session of this.#sessions.values()) {
      const isIdle = session.responses === 0 && session.usedAtMs < since;
      if (isIdle) this.#end(session);
    }
  }

  #endOldest(sessions: readonly Session[]): void {
    const unused = sessions.find(({ responses }) => responses === 0);
    this.#end(unused ?? sessions[0]);
  }

  #end(session: Session | undefined): void {
    const { sessionId } = session?.transport ?? {};
    if (sessionId !== undefined) this.#sessions.delete(sessionId);
    void session?.transport.close();
  }

  #closeAll(): void {
    for (const { transport } of this.#sessions.values()) void transport.close();
    this.#sessions.clear();
  }
}

/** Where the ids and the time of sessions come from. */
interface SessionSources {
  readonly nextId: () => string;
  /** The clock, in milliseconds. */
  readonly now: () => number;
}

interface Session {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly principal: string;
  /** When the last response was sent, by the clock of the sessions. */
  usedAtMs: number;
  /** The number of responses that are being sent. */
  responses: number;
}
