import type { Writable } from "node:stream";
import type { HttpRequest, HttpResponse } from "./route.ts";

/**
 * The abort reason of every client that disconnects.
 *
 * One for all: `abort()` without a reason captures a stack trace per request.
 */
const GONE = new DOMException("the client has disconnected", "AbortError");

/**
 * The controllers to abort when a server stops, by its shutdown signal.
 *
 * One listener per server serves all requests: `AbortSignal.any` would cost
 * each stream a kilobyte.
 */
const OPEN = new WeakMap<AbortSignal, Set<AbortController>>();

/**
 * Aborts a signal when the client of a response disconnects, when the response
 * ends, or when the server stops.
 */
export class ClientGone implements Disposable {
  readonly #gone = new AbortController();
  /** Aborts once nobody waits for the response any more. */
  readonly signal: AbortSignal = this.#gone.signal;
  readonly #writable: Writable;
  readonly #open: Set<AbortController>;

  constructor(response: HttpResponse, shutdown: AbortSignal) {
    this.#writable = response;
    const known = OPEN.get(shutdown);
    const open = known ?? new Set<AbortController>();
    if (!known) {
      OPEN.set(shutdown, open);
      shutdown.addEventListener("abort", () => {
        for (const controller of open) controller.abort(shutdown.reason);
      });
    }
    this.#open = open.add(this.#gone);
    this.#writable.on("close", this.#close);
    if (shutdown.aborted) this.#gone.abort(shutdown.reason);
    // The client may have disconnected before this was constructed, while code
    // was loaded.
    if (this.#writable.destroyed) this.#close();
  }

  /**
   * Ends the observation of the response, and aborts the signal. A signal with
   * listeners that never aborts would stay in memory as long as the server.
   */
  [Symbol.dispose](): void {
    this.#writable.off("close", this.#close);
    this.#close();
  }

  readonly #close = (): void => {
    this.#open.delete(this.#gone);
    this.#gone.abort(GONE);
  };
}

/**
 * Whether a request failed because its client closed the connection: reading or
 * writing failed, and the stream is gone. That is the client's right, and
 * nothing that an operator can mend.
 *
 * A fault of a disk, a child process or another connection at the same moment
 * does not count.
 */
export function isDisconnection(
  request: HttpRequest,
  reason: unknown,
): boolean {
  const connection = "stream" in request ? request.stream : request.socket;
  if (!connection.destroyed) return false;
  const errors = reason instanceof Error ? [reason, reason.cause] : [];
  return errors.some((error) => {
    if (!(error instanceof Error)) return false;
    // A connection has the error that ended it, whatever its code.
    if ([request.errored, connection.errored].includes(error)) return true;
    if (!("code" in error) || typeof error.code !== "string") return false;
    // An ECONNRESET of the system may be that of another connection.
    if (error.code === "ECONNRESET") return !("syscall" in error);
    return (
      error.code === "ECANCELED" ||
      error.code === "ABORT_ERR" ||
      /^ERR_(STREAM|HTTP2)_/.test(error.code)
    );
  });
}
