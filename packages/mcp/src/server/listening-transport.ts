import type { JsonObject } from "@bufbuild/protobuf";
import { isObject, objectOrEmpty, plainJson } from "@devtool/internal/json";
import {
  type JSONRPCMessage,
  type MessageExtraInfo,
  ProtocolError,
  parseJSONRPCMessage,
  type Transport,
} from "@modelcontextprotocol/server";
import type { PortTasks } from "./port.ts";
import {
  isListen,
  openedSubscription,
  prepareListen,
  serveSubscription,
} from "./task-subscriptions.ts";

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
  /** What ends each subscription, by its id. */
  readonly #open = new Map<unknown, AbortController>();

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
    if (!subscription) return this.#wire.send(message);
    await this.#write(subscription.acknowledged);
    const { id } = subscription;
    const stop = new AbortController();
    this.#open.get(id)?.abort();
    this.#open.set(id, stop);
    const signal = AbortSignal.any([stop.signal, this.#closed.signal]);
    const notify = (note: JsonObject): void => {
      if (!signal.aborted) void this.#write(note).catch(this.#report);
    };
    void serveSubscription(subscription, this.#tasks, notify, signal).catch(
      this.#report,
    );
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
      const { requestId } = objectOrEmpty(plain.params);
      this.#open.get(requestId)?.abort();
      this.#open.delete(requestId);
    }
    if (!isListen(plain)) return this.onmessage?.(message, extra);
    try {
      const { signal } = this.#closed;
      const prepared = await prepareListen(plain, this.#tasks, signal);
      this.onmessage?.(parseJSONRPCMessage(prepared), extra);
    } catch (reason) {
      if (!(reason instanceof ProtocolError)) throw reason;
      const { code, message: text, data } = reason;
      const error = {
        code,
        message: text,
        ...(data !== undefined && { data }),
      };
      await this.#write({
        jsonrpc: "2.0",
        id: plain.id ?? null,
        error: plainJson(error),
      });
    }
  }

  #write(message: JsonObject): Promise<void> {
    return this.#wire.send(parseJSONRPCMessage(message));
  }
}
