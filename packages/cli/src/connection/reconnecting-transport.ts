import { setTimeout as delay } from "node:timers/promises";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { errorMessage } from "../errors.ts";
import type { Address } from "./address.ts";
import { UnprovenServerError } from "./server-identity.ts";

/**
 * Maximum time that a call waits for a server to start again, in milliseconds.
 */
const MAX_WAIT_MS = 120_000;

/** Interval of looking for the server, in milliseconds. */
const LOOK_EVERY_MS = 200;

/** A transport and the address that it leads to. */
interface OpenTransport {
  readonly address: Address;
  readonly transport: Transport;
}

/** Options of `ReconnectingTransport`. */
interface ReconnectOptions {
  /**
   * Finds the running server and verifies its identity; undefined while none
   * runs.
   *
   * Throws an `UnprovenServerError` while another program listens in its place:
   * the call waits as if none ran. Any other error fails the call.
   */
  readonly find: (signal: AbortSignal) => Promise<Address | undefined>;
  readonly open: (address: Address) => Promise<Transport>;
  /** Receives messages for the user. */
  readonly notify: (text: string) => void;
  /**
   * Maximum time that a call waits for the server, in milliseconds.
   *
   * Default: 2 minutes.
   */
  readonly maxWaitMs?: number;
}

/**
 * A transport that follows a server over restarts, also to another port or
 * token.
 *
 * Each call looks the server up again, so that the token never goes to another
 * program on the same port, and waits while no server runs or another program
 * has its port. A broken stream fails with the error of its connection; the
 * client then opens another one, which waits here.
 */
export class ReconnectingTransport implements Transport {
  #current: OpenTransport;
  /** Whether the user was told that the server is gone. */
  #isToldGone = false;
  readonly #options: ReconnectOptions;

  constructor(first: OpenTransport, options: ReconnectOptions) {
    this.#current = first;
    this.#options = options;
  }

  /**
   * Whether the server is gone, as the user was told, and no call has found it
   * again. Calls wait for it.
   */
  get isServerGone(): boolean {
    return this.#isToldGone;
  }

  readonly unary: Transport["unary"] = async (method, signal, ...rest) =>
    (await this.#connected(signal)).unary(method, signal, ...rest);

  readonly stream: Transport["stream"] = async (method, signal, ...rest) =>
    (await this.#connected(signal)).stream(method, signal, ...rest);

  /**
   * Returns a transport to the running server. Throws a `ConnectError` when
   * none starts in time, and when the signal aborts.
   */
  async #connected(signal: AbortSignal = NEVER): Promise<Transport> {
    const { maxWaitMs = MAX_WAIT_MS } = this.#options;
    let looked = await this.#look(signal);
    if (looked.address) return this.#transportTo(looked.address);
    // The user is told once, until the server is back.
    if (!this.#isToldGone) {
      this.#isToldGone = true;
      const gone =
        looked.problem ?? `the server at ${this.#current.address.url} is gone`;
      this.#options.notify(`${gone}: waiting for it to start again`);
    }
    try {
      const end = performance.now() + maxWaitMs;
      while (performance.now() < end) {
        await delay(LOOK_EVERY_MS, undefined, { signal });
        looked = await this.#look(signal);
        if (looked.address) return await this.#transportTo(looked.address);
      }
    } catch (reason) {
      throw signal.aborted
        ? errorFrom("canceled", Code.Canceled, reason)
        : reason;
    }
    // The next call waits again, and tells the user.
    this.#isToldGone = false;
    const remedy =
      looked.problem ?? 'start it with "devtool serve" and try again';
    throw new ConnectError(
      `no server came back within ${maxWaitMs / 1000} seconds: ${remedy}`,
      FINAL,
    );
  }

  async #look(signal: AbortSignal): Promise<Look> {
    try {
      return { address: await this.#options.find(signal) };
    } catch (reason) {
      if (signal.aborted) throw errorFrom("canceled", Code.Canceled, reason);
      if (reason instanceof UnprovenServerError) {
        return { address: undefined, problem: reason.message };
      }
      throw errorFrom(errorMessage(reason), FINAL, reason);
    }
  }

  async #transportTo(address: Address): Promise<Transport> {
    const { open, notify } = this.#options;
    const before = this.#current;
    const wasToldGone = this.#isToldGone;
    this.#isToldGone = false;
    const { info: known, ...at } = before.address;
    const hasRestarted =
      !address.info ||
      !known ||
      !Buffer.from(address.info.proofKey).equals(known.proofKey);
    if (!hasRestarted) {
      if (wasToldGone) notify(`reconnected to ${address.url}`);
      return before.transport;
    }
    // A transport that still reaches the server is kept, for the tasks that it
    // knows.
    const isReached =
      address.url === at.url &&
      address.token === at.token &&
      address.certificate === at.certificate;
    const transport = isReached ? before.transport : await open(address);
    // Another call may have reconnected meanwhile.
    if (this.#current === before) {
      this.#current = { address, transport };
      notify(`reconnected to ${address.url}`);
    }
    return this.#current.transport;
  }
}

function errorFrom(problem: string, code: Code, cause: unknown): ConnectError {
  return new ConnectError(problem, code, undefined, undefined, cause);
}

/** The result of looking for the server. */
interface Look {
  /** Undefined while it does not run. */
  readonly address: Address | undefined;
  /** Why what runs in its place cannot be used. */
  readonly problem?: string;
}

const NEVER: AbortSignal = new AbortController().signal;

/** A code with which the client does not retry by itself. */
const FINAL = Code.FailedPrecondition;
