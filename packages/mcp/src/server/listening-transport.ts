import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject, objectOrEmpty, plainJson } from "@devtool/internal/json";
import { DevtoolError } from "@devtool/server/agent";
import {
  type JSONRPCMessage,
  type MessageExtraInfo,
  ProtocolError,
  ProtocolErrorCode,
  parseJSONRPCMessage,
  type Transport,
} from "@modelcontextprotocol/server";
import type { PortTasks } from "./port.ts";
import {
  endOfSubscription,
  isListen,
  openedSubscription,
  prepareListen,
  type Subscription,
  sendsForms,
  serveSubscription,
} from "./task-subscriptions.ts";

/** A subscription that the host has asked for. */
interface OpenListen {
  readonly stop: AbortController;
  /** Whether the host shows its user forms. */
  readonly asksUser: boolean;
}

/**
 * A transport whose host may subscribe to tasks and their resources
 * (2026-07-28): the SDK opens the subscriptions, and this serves them.
 */
export class ListeningTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage, extra?: MessageExtraInfo) => void;
  readonly #wire: Transport;
  readonly #tasks: PortTasks;
  readonly #report: (reason: unknown) => void;
  readonly #closed = new AbortController();
  /** The subscriptions of the host, by their ids. */
  readonly #open = new Map<unknown, OpenListen>();

  constructor(
    wire: Transport,
    tasks: PortTasks,
    report: (reason: unknown) => void,
  ) {
    this.#wire = wire;
    this.#tasks = tasks;
    this.#report = report;
  }

  async start(): Promise<void> {
    this.#wire.onmessage = (message, extra) => {
      void this.#receive(message, extra).catch(this.#report);
    };
    this.#wire.onerror = (error) => this.onerror?.(error);
    this.#wire.onclose = () => {
      this.#closed.abort();
      this.onclose?.();
    };
    await this.#wire.start();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const plain = plainJson(message);
    const subscription = isObject(plain) && openedSubscription(plain);
    if (!subscription) {
      // The answer to the request for a subscription ends it.
      if (isObject(plain) && plain.method === undefined) this.#stop(plain.id);
      return this.#wire.send(message);
    }
    const listen = this.#open.get(subscription.id);
    await this.#write(subscription.acknowledged);
    if (listen) void this.#serve(subscription, listen);
  }

  /** Serves a subscription, and says so when it cannot be served any more. */
  async #serve(subscription: Subscription, listen: OpenListen): Promise<void> {
    const { id } = subscription;
    const { stop, asksUser } = listen;
    const signal = AbortSignal.any([stop.signal, this.#closed.signal]);
    const notify = (note: JsonObject): void => {
      if (!signal.aborted) void this.#write(note).catch(this.#report);
    };
    try {
      await serveSubscription(
        { ...subscription, asksUser },
        this.#tasks,
        notify,
        signal,
      );
    } catch (reason) {
      this.#report(reason);
      notify(endOfSubscription(subscription, reason));
      this.onmessage?.({
        jsonrpc: "2.0",
        method: "notifications/cancelled",
        params: { requestId: id },
      });
    } finally {
      stop.abort();
      if (this.#open.get(id) === listen) this.#open.delete(id);
    }
  }

  #stop(id: unknown): void {
    this.#open.get(id)?.stop.abort();
    this.#open.delete(id);
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#wire.close();
  }

  async #receive(
    message: JSONRPCMessage,
    extra: MessageExtraInfo | undefined,
  ): Promise<void> {
    const plain = plainJson(message);
    if (!isObject(plain)) return;
    if (plain.method === "notifications/cancelled") {
      this.#stop(objectOrEmpty(plain.params).requestId);
    }
    if (!isListen(plain)) return this.onmessage?.(message, extra);
    const { id = null } = plain;
    const stop = new AbortController();
    // It may be cancelled before it is open.
    this.#stop(id);
    this.#open.set(id, { stop, asksUser: sendsForms(plain) });
    const signal = AbortSignal.any([stop.signal, this.#closed.signal]);
    try {
      const prepared = await prepareListen(plain, this.#tasks, signal);
      if (!signal.aborted) {
        this.onmessage?.(parseJSONRPCMessage(prepared), extra);
      }
    } catch (reason) {
      if (signal.aborted) return;
      this.#stop(id);
      if (!(reason instanceof ProtocolError)) this.#report(reason);
      await this.#write({ jsonrpc: "2.0", id, error: errorOf(reason) });
    }
  }

  #write(message: JsonObject): Promise<void> {
    return this.#wire.send(parseJSONRPCMessage(message));
  }
}

/** Returns an error of JSON-RPC for a request that failed. */
function errorOf(reason: unknown): JsonValue {
  const { code, message, data } =
    reason instanceof ProtocolError
      ? reason
      : new ProtocolError(
          ProtocolErrorCode.InternalError,
          DevtoolError.from(reason).message,
        );
  return plainJson({ code, message, ...(data !== undefined && { data }) });
}
