import type { Writable } from "node:stream";
import type { HttpResponse } from "./route.ts";

/** Made once: an abort without a reason makes one, with its trace, for every request. */
const GONE = new DOMException("the client has gone", "AbortError");

/** What is to abort when a server stops, by the signal of its stop. One listener for all: `AbortSignal.any` costs each stream a kilobyte. */
const OPEN = new WeakMap<AbortSignal, Set<AbortController>>();

/** Knows when nobody waits for a response any more: the client closed it, or the server stops. */
export class ClientGone implements Disposable {
  readonly #writable: Writable;
  readonly #open: Set<AbortController>;
  readonly #gone = new AbortController();

  constructor(response: HttpResponse, shutdown: AbortSignal) {
    this.#writable = response;
    this.#open = openUntil(shutdown);
    this.#open.add(this.#gone);
    this.#writable.on("close", this.#close);
    if (shutdown.aborted) this.#gone.abort(shutdown.reason);
    // It may have left while what answers it was loaded.
    if (this.#writable.destroyed) this.#close();
  }

  /** Aborts when nobody waits any more. */
  get signal(): AbortSignal {
    return this.#gone.signal;
  }

  /** Ends the wait. The signal aborts, for one that listeners wait on and that never aborts is kept as long as the server. */
  [Symbol.dispose](): void {
    this.#writable.off("close", this.#close);
    this.#close();
  }

  readonly #close = (): void => {
    this.#open.delete(this.#gone);
    this.#gone.abort(GONE);
  };
}

/** What is open and aborts with a signal, for its reason. */
function openUntil(shutdown: AbortSignal): Set<AbortController> {
  const known = OPEN.get(shutdown);
  if (known) return known;
  const open = new Set<AbortController>();
  shutdown.addEventListener("abort", () => {
    for (const controller of open) controller.abort(shutdown.reason);
  });
  OPEN.set(shutdown, open);
  return open;
}
