import type { IncomingMessage, ServerResponse } from "node:http";
import type { Operations } from "../../operations.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import { answerRequest, type Dispatch } from "./dispatch.ts";
import { pathOf, type Route, sendError, withoutPrefix } from "./route.ts";

interface MountOptions {
  /**
   * The URL at which clients reach the mounted server, without a trailing
   * slash.
   *
   * Its path is the prefix.
   */
  readonly publicUrl: string;

  readonly routes: readonly Route[];

  readonly authenticator: Authenticator;

  /**
   * Additional accepted values of `Host`: `name:port`, or `name` for any port.
   */
  readonly allowedHosts: readonly string[];

  /**
   * The accepted values of `Origin`: the web pages that may call the server.
   */
  readonly allowedOrigins: readonly string[];

  /**
   * Called with the local port of each request: the ports of the application.
   */
  readonly onPort: (port: number) => void;

  /** Called with each error that is not the client's fault. */
  readonly onError: (reason: unknown) => void;

  /** What the server's observer hears. Default: there is none. */
  readonly operations?: Operations | undefined;
}

/** Answers the requests of another HTTP server below a path prefix. */
export class Mount {
  readonly #prefix: string;
  readonly #dispatch: Dispatch;
  readonly #open = new Set<ServerResponse>();
  readonly #onPort: MountOptions["onPort"];
  #isStopping = false;
  #onIdle: () => void = () => undefined;

  constructor({
    publicUrl,
    routes,
    authenticator,
    allowedHosts,
    allowedOrigins,
    onPort,
    onError,
    operations,
  }: MountOptions) {
    const { hostname, pathname } = new URL(publicUrl);
    this.#prefix = pathname;
    this.#onPort = onPort;
    const hosts = new Set(
      [hostname, ...allowedHosts].map((name) => name.toLowerCase()),
    );
    const guard = { authenticator, hosts, origins: new Set(allowedOrigins) };
    this.#dispatch = {
      ...{ routes, guard, onError, operations },
      isStopping: () => this.#isStopping,
      beginCheck: () => ({
        admit: () => undefined,
        [Symbol.dispose]: () => undefined,
      }),
    };
  }

  /**
   * Answers a request.
   *
   * A request whose body was read before gets status 500, and `onError` learns
   * why: the mount must come before body parsers.
   */
  answer(request: IncomingMessage, response: ServerResponse): void {
    if (request.socket.localPort !== undefined) {
      this.#onPort(request.socket.localPort);
    }
    request.url ??= "/";
    const path = pathOf(request);
    // Express and similar routers have removed the prefix before.
    const isRemoved =
      "baseUrl" in request &&
      typeof request.baseUrl === "string" &&
      request.baseUrl !== "";
    const hasPrefix =
      path === this.#prefix || path.startsWith(`${this.#prefix}/`);
    if (hasPrefix && !isRemoved) {
      request.url = withoutPrefix(this.#prefix, request.url);
    }
    this.#open.add(response);
    response.once("close", () => {
      this.#open.delete(response);
      if (this.#open.size === 0) this.#onIdle();
    });
    const isRead = request.readableDidRead || request.readableEnded;
    if (isRead && !this.#isStopping) {
      sendError(response, 500, "internal error");
      const problem =
        "the body of a request was read already: mount the handler before body parsers";
      this.#dispatch.onError(new Error(problem));
    } else {
      void answerRequest(request, response, this.#dispatch);
    }
  }

  /** Accepts no more requests. Requests in progress go on. */
  stopTaking(): void {
    this.#isStopping = true;
  }

  /**
   * Accepts no more requests, waits up to `graceMs` milliseconds for those in
   * progress, then closes their connections.
   */
  async close(graceMs: number): Promise<void> {
    this.stopTaking();
    const idle = Promise.withResolvers<void>();
    this.#onIdle = idle.resolve;
    if (this.#open.size === 0) return;
    const force = setTimeout(() => {
      for (const response of this.#open) response.destroy();
    }, graceMs);
    await idle.promise;
    clearTimeout(force);
  }
}
