import type { Writable } from "node:stream";
import type { HttpResponse } from "../route.ts";

/** Made once: an abort without a reason makes one, with its trace, for every request. */
const GONE = new DOMException("the client has gone", "AbortError");

/** Knows when nobody waits for a response any more: the client closed it, or the server stops. */
export class ClientGone implements Disposable {
  readonly #writable: Writable;
  readonly #closed = new AbortController();
  readonly signal: AbortSignal;

  constructor(response: HttpResponse, shutdown: AbortSignal) {
    this.#writable = response;
    this.#writable.once("close", this.#close);
    // It may have left while what answers it was loaded.
    if (this.#writable.destroyed) this.#close();
    this.signal = AbortSignal.any([this.#closed.signal, shutdown]);
  }

  /** Ends the wait. The signal aborts, for one that listeners wait on and that never aborts is kept as long as the server. */
  [Symbol.dispose](): void {
    this.#writable.off("close", this.#close);
    this.#close();
  }

  readonly #close = (): void => this.#closed.abort(GONE);
}
