import type { McpServerStatus } from "@devtool/coding-agent/tool";
import { abortable } from "@devtool/internal/abortable";
import type { McpServer } from "@devtool/schema";
import { Code, DevtoolError } from "@devtool/server/agent";
import type { ConnectionOptions, McpConnection } from "./mcp-connection.ts";
import { openConnection } from "./open-connection.ts";

/** The options of `McpSupervisor`. */
export interface SupervisorOptions extends ConnectionOptions {
  /** The timeout of a connection attempt, in milliseconds. */
  readonly connectTimeoutMs: number;
}

/**
 * The number of failures within the window after which a server is not tried
 * again before a refresh.
 */
const MAX_FAILURES = 5;
const WINDOW_MS = 3 * 60_000;
/**
 * The wait after the second failure, in milliseconds. It doubles with each
 * further one.
 */
const FIRST_WAIT_MS = 1000;

/**
 * Supervises one server: connects when it is needed, and again after it has
 * failed.
 *
 * The second attempt is made at once, the next ones after 1, 2 and 4 seconds.
 * After five failures within three minutes there is none before a refresh.
 * Nothing runs in the background: a server that is not needed is not restarted.
 */
export class McpSupervisor implements AsyncDisposable {
  readonly server: McpServer;
  readonly #options: SupervisorOptions;
  readonly #disposed = new AbortController();
  #connection: McpConnection | undefined;
  #opening: Promise<McpConnection> | undefined;
  #openedAtMs = 0;
  #failuresAtMs: readonly number[] = [];
  #reason = "";
  /** The resources that were read over the connections before. */
  #read: readonly string[] = [];

  constructor(server: McpServer, options: SupervisorOptions) {
    this.server = server;
    this.#options = options;
  }

  /** The state of the server, and the reason of a failure. */
  get state(): Pick<McpServerStatus, "state" | "reason"> {
    if (this.#connection) return { state: "ready", reason: "" };
    if (this.#opening) return { state: "connecting", reason: "" };
    if (this.#reason === "") return { state: "idle", reason: "" };
    return {
      state:
        this.#recentFailures().length >= MAX_FAILURES ? "stopped" : "failed",
      reason: this.#reason,
    };
  }

  /**
   * Returns the connection, opening one if there is none. Throws
   * `Code.Unavailable` with the reason when that is not possible now.
   */
  async connection(signal: AbortSignal): Promise<McpConnection> {
    if (this.#connection) return this.#connection;
    if (!this.#opening) {
      this.#openedAtMs = this.#options.now();
      const opening = this.#open().finally(() => {
        this.#opening = undefined;
      });
      // Callers get the failure from the promise. It is handled here as well,
      // since all of them may have aborted.
      opening.catch(() => undefined);
      this.#opening = opening;
    }
    return abortable(this.#opening, signal);
  }

  /** What the lists of the server hold that cannot be used. */
  get leftOut(): readonly string[] {
    return this.#connection?.leftOut.texts ?? [];
  }

  /** What the server says about itself; empty while it is not connected. */
  get instructions(): string {
    return this.#connection?.instructions ?? "";
  }

  /** How long the server has been connecting, in milliseconds; 0 if it is not. */
  get connectingMs(): number {
    return this.#opening ? this.#options.now() - this.#openedAtMs : 0;
  }

  /**
   * Asks over the connection, and once more over a new one if the server had
   * forgotten the session: then the request did not run.
   */
  async ask<T>(
    request: (connection: McpConnection) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const connection = await this.connection(signal);
    try {
      return await request(connection);
    } catch (reason) {
      if (!connection.isSessionGone) throw reason;
      return request(await this.connection(signal));
    }
  }

  /**
   * Clears the failures and ends the connection. The next call of `connection`
   * opens a new one.
   */
  async reset(): Promise<void> {
    const connection = this.#connection;
    if (connection) this.#forget(connection);
    this.#failuresAtMs = [];
    this.#reason = "";
    await connection?.[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed.abort(this.#unavailable("it was stopped"));
    await this.#opening?.catch(() => undefined);
    await this.reset();
  }

  async #open(): Promise<McpConnection> {
    this.#disposed.signal.throwIfAborted();
    const failures = this.#recentFailures();
    if (failures.length >= MAX_FAILURES) {
      throw this.#unavailable(
        `it failed ${failures.length} times within 3 minutes: refresh it (${this.#reason})`,
      );
    }
    const { connectTimeoutMs, now } = this.#options;
    const last = failures.at(-1);
    if (last !== undefined && failures.length > 1) {
      const waitMs = last + FIRST_WAIT_MS * 2 ** (failures.length - 2) - now();
      if (waitMs > 0) {
        throw this.#unavailable(
          `it is tried again in ${waitMs} ms (${this.#reason})`,
        );
      }
    }
    const timeout = AbortSignal.timeout(connectTimeoutMs);
    try {
      const signal = AbortSignal.any([this.#disposed.signal, timeout]);
      const connection = await openConnection(
        this.server,
        this.#options,
        signal,
      );
      this.#connection = connection;
      connection.ended.addEventListener(
        "abort",
        () => this.#handleEnd(connection),
        { once: true },
      );
      if (connection.ended.aborted) this.#handleEnd(connection);
      this.#reason = "";
      connection.changes.resume(this.#read);
      return connection;
    } catch (reason) {
      const late = this.#unavailable(
        `it did not answer within ${connectTimeoutMs} ms`,
      );
      throw this.#addFailure(
        timeout.aborted ? late : DevtoolError.from(reason),
      );
    }
  }

  #handleEnd(connection: McpConnection): void {
    if (this.#connection !== connection) return;
    this.#forget(connection);
    // Servers may forget sessions whenever they like.
    if (connection.isSessionGone) return;
    this.#addFailure(DevtoolError.from(connection.ended.reason));
  }

  #forget(connection: McpConnection): void {
    this.#connection = undefined;
    this.#read = [...connection.changes.resources.keys()];
  }

  #addFailure(error: DevtoolError): DevtoolError {
    this.#failuresAtMs = [...this.#recentFailures(), this.#options.now()];
    this.#reason = error.message;
    return error;
  }

  #recentFailures(): readonly number[] {
    const windowStart = this.#options.now() - WINDOW_MS;
    // Once the limit is reached, failures do not expire: only a refresh clears
    // them.
    if (this.#failuresAtMs.length >= MAX_FAILURES) return this.#failuresAtMs;
    return this.#failuresAtMs.filter((atMs) => atMs > windowStart);
  }

  #unavailable(why: string): DevtoolError {
    return new DevtoolError(
      `MCP server ${JSON.stringify(this.server.name)}: ${why}`,
      Code.Unavailable,
    );
  }
}
