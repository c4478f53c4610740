import { Code, ConnectError, type Transport } from "@connectrpc/connect";

/** A call or an event on its way, which goes on or is lost as a test says. */
interface Held {
  readonly arrive: () => void;
  readonly lose: (reason: ConnectError) => void;
}

/**
 * A connection within a process, on which nothing arrives before the test lets
 * it: neither a request, nor a response, nor an event of a stream.
 */
export class GatedTransport implements Transport {
  /** Whether the server is gone, so that calls wait for it to start again. */
  isGone = false;
  readonly #inner: () => Promise<Transport>;
  readonly #held = new Set<Held>();
  #cut = new AbortController();

  /** @param inner returns the transport to the server that runs now */
  constructor(inner: () => Promise<Transport>) {
    this.#inner = inner;
  }

  /** The number of requests, responses and events on their way. */
  get size(): number {
    return this.isGone ? 0 : this.#held.size;
  }

  /** Lets one arrive: the oldest, or one after it. */
  deliver(after: number): void {
    const held = [...this.#held][this.size === 0 ? 0 : after % this.size];
    if (!this.isGone) held?.arrive();
  }

  /** Loses the connections and all that is on them. */
  cut(): void {
    const reason = new ConnectError("the connection is lost", Code.Unavailable);
    this.#cut.abort(reason);
    this.#cut = new AbortController();
    for (const held of [...this.#held]) held.lose(reason);
  }

  readonly unary: Transport["unary"] = async (method, signal, ...rest) => {
    const either = this.#limit(signal);
    await this.#pass(either);
    const inner = await this.#inner();
    const response = await inner.unary(method, either, ...rest);
    await this.#pass(either);
    return response;
  };

  readonly stream: Transport["stream"] = async (method, signal, ...rest) => {
    const either = this.#limit(signal);
    await this.#pass(either);
    const inner = await this.#inner();
    const response = await inner.stream(method, either, ...rest);
    const pass = (): Promise<void> => this.#pass(either);
    const message = (async function* () {
      for await (const each of response.message) {
        await pass();
        yield each;
      }
      await pass();
    })();
    return { ...response, message };
  };

  #limit(signal: AbortSignal | undefined): AbortSignal {
    const { signal: cut } = this.#cut;
    return signal ? AbortSignal.any([signal, cut]) : cut;
  }

  async #pass(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const held: Held = { arrive: resolve, lose: reject };
    const abort = (): void => reject(signal.reason);
    this.#held.add(held);
    signal.addEventListener("abort", abort, { once: true });
    try {
      await promise;
    } finally {
      this.#held.delete(held);
      signal.removeEventListener("abort", abort);
    }
  }
}
