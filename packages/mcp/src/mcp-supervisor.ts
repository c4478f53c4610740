import type { McpServerStatus } from "@devtool/coding-agent/tool";
import type { McpServer } from "@devtool/schema";
import { abortable, Code, DevtoolError } from "@devtool/server/agent";
import type { ConnectionOptions, McpConnection } from "./mcp-connection.ts";
import { openConnection } from "./open-connection.ts";

/** How a supervisor works. */
export interface SupervisorOptions extends ConnectionOptions {
  /** The time that a server has to be there, in milliseconds. */
  readonly connectTimeoutMs: number;
}

/** The number of failures within the window after which a server is left alone. */
const MAX_FAILURES = 5;
const WINDOW_MS = 3 * 60_000;
const FIRST_WAIT_MS = 1000;

/**
 * Keeps one server: connects when somebody needs it, and again after it crashed. The first time at once, then after 1,
 * 2 and 4 seconds; after the fifth failure within three minutes not before a refresh. Nothing runs in the background:
 * a server that nobody needs is not restarted.
 */
export class McpSupervisor implements AsyncDisposable {
  readonly server: McpServer;
  readonly #options: SupervisorOptions;
  readonly #disposed = new AbortController();
  #connection: McpConnection | undefined;
  #opening: Promise<McpConnection> | undefined;
  #failuresAtMs: readonly number[] = [];
  #reason = "";

  constructor(server: McpServer, options: SupervisorOptions) {
    this.server = server;
    this.#options = options;
  }

  /** How it is; the count of tools is the caller's to say. */
  get state(): Pick<McpServerStatus, "state" | "reason"> {
    if (this.#connection) return { state: "ready", reason: "" };
    if (this.#opening) return { state: "connecting", reason: "" };
    if (this.#reason === "") return { state: "idle", reason: "" };
    return { state: this.#recentFailures().length >= MAX_FAILURES ? "stopped" : "failed", reason: this.#reason };
  }

  /** The connection, made when there is none. Throws `Code.Unavailable` with the reason when there can be none now. */
  async connection(signal: AbortSignal): Promise<McpConnection> {
    if (this.#connection) return this.#connection;
    return abortable(this.#opening ?? this.#startOpening(), signal);
  }

  /** Forgets what failed and ends the connection: the next who needs the server gets a new one. */
  async reset(): Promise<void> {
    const connection = this.#connection;
    this.#connection = undefined;
    this.#failuresAtMs = [];
    this.#reason = "";
    await connection?.[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed.abort(this.#unavailable("it was stopped"));
    await this.#opening?.catch(() => undefined);
    await this.reset();
  }

  #startOpening(): Promise<McpConnection> {
    const opening = this.#open();
    this.#opening = opening;
    const forget = (): void => {
      this.#opening = undefined;
    };
    // Whoever waits sees the failure; nobody may be waiting any more.
    void opening.then(forget, forget);
    return opening;
  }

  async #open(): Promise<McpConnection> {
    this.#disposed.signal.throwIfAborted();
    this.#assertMayTry();
    return this.#connect();
  }

  async #connect(): Promise<McpConnection> {
    const { connectTimeoutMs } = this.#options;
    const timeout = AbortSignal.timeout(connectTimeoutMs);
    try {
      const signal = AbortSignal.any([this.#disposed.signal, timeout]);
      const connection = await openConnection(this.server, this.#options, signal);
      this.#connection = connection;
      connection.ended.addEventListener("abort", () => this.#lost(connection), { once: true });
      if (connection.ended.aborted) this.#lost(connection);
      this.#reason = "";
      return connection;
    } catch (reason) {
      const late = this.#unavailable(`it did not answer within ${connectTimeoutMs} ms`);
      throw this.#failed(timeout.aborted ? late : DevtoolError.from(reason));
    }
  }

  #lost(connection: McpConnection): void {
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    this.#failed(DevtoolError.from(connection.ended.reason));
  }

  #failed(error: DevtoolError): DevtoolError {
    this.#failuresAtMs = [...this.#recentFailures(), this.#options.now()];
    this.#reason = error.message;
    return error;
  }

  #recentFailures(): readonly number[] {
    const windowStart = this.#options.now() - WINDOW_MS;
    // Whoever reached the limit stays there until a refresh.
    if (this.#failuresAtMs.length >= MAX_FAILURES) return this.#failuresAtMs;
    return this.#failuresAtMs.filter((atMs) => atMs > windowStart);
  }

  #assertMayTry(): void {
    const failures = this.#recentFailures();
    if (failures.length >= MAX_FAILURES)
      throw this.#unavailable(`it failed ${failures.length} times within 3 minutes: refresh it (${this.#reason})`);
    const last = failures.at(-1);
    if (last === undefined || failures.length === 1) return;
    const waitMs = last + FIRST_WAIT_MS * 2 ** (failures.length - 2) - this.#options.now();
    if (waitMs > 0) throw this.#unavailable(`it is tried again in ${waitMs} ms (${this.#reason})`);
  }

  #unavailable(why: string): DevtoolError {
    return new DevtoolError(`MCP server ${JSON.stringify(this.server.name)}: ${why}`, Code.Unavailable);
  }
}
