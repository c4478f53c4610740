import type { IncomingMessage, ServerResponse } from "node:http";
import type { Authenticator } from "../auth/authenticator.ts";
import { answerRequest, type Dispatch, STOPPING } from "./dispatch.ts";
import { refuse } from "./refusal.ts";
import { pathOf, type Route, send } from "./route.ts";

/** What a mounted server answers, and whom. */
export interface MountOptions {
  /** Where clients reach it, without a slash at its end; its path is the prefix. */
  readonly publicUrl: string;
  readonly routes: readonly Route[];
  readonly authenticator: Authenticator;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  /** Takes each port at which a request came: those of the application. */
  readonly onPort: (port: number) => void;
  readonly onError: (reason: unknown) => void;
}

/** Answers requests that somebody else's HTTP server takes, below a prefix of the path. */
export class Mount {
  readonly #prefix: string;
  readonly #dispatch: Dispatch;
  readonly #open = new Set<ServerResponse>();
  readonly #onPort: MountOptions["onPort"];
  #isStopping = false;
  #onIdle: () => void = () => undefined;

  constructor({ publicUrl, routes, authenticator, allowedHosts, allowedOrigins, onPort, onError }: MountOptions) {
    const { hostname, pathname } = new URL(publicUrl);
    this.#prefix = pathname;
    this.#onPort = onPort;
    const hosts = new Set([hostname, ...allowedHosts].map((name) => name.toLowerCase()));
    const guard = { authenticator, hosts, origins: new Set(allowedOrigins) };
    this.#dispatch = { routes, guard, onError, admit: () => undefined };
  }

  /** Answers a request. One whose body was read before cannot be answered: the operator's log says so. */
  answer(request: IncomingMessage, response: ServerResponse): void {
    if (request.socket.localPort !== undefined) this.#onPort(request.socket.localPort);
    request.url = this.#pathBelow(request);
    this.#open.add(response);
    response.once("close", () => {
      this.#open.delete(response);
      if (this.#open.size === 0) this.#onIdle();
    });
    if (this.#isStopping) refuse(request, response, STOPPING);
    else if (request.readableDidRead || request.readableEnded) this.#refuseRead(response);
    else void answerRequest(request, response, this.#dispatch);
  }

  /** Takes no more requests; those that are being answered go on. */
  stopTaking(): void {
    this.#isStopping = true;
  }

  /** Lets requests end for a number of milliseconds, then closes what is left. */
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

  /** The path and query of a request without the prefix, which Express and its like have taken off where they mount. */
  #pathBelow(request: IncomingMessage): string {
    const { url = "/" } = request;
    const isMounted = "baseUrl" in request && typeof request.baseUrl === "string" && request.baseUrl !== "";
    const path = pathOf(request);
    if (isMounted || (path !== this.#prefix && !path.startsWith(`${this.#prefix}/`))) return url;
    return url.slice(this.#prefix.length).replace(/^(?!\/)/, "/");
  }

  #refuseRead(response: ServerResponse): void {
    send(response, 500, { body: JSON.stringify({ error: "internal error" }) });
    this.#dispatch.onError(new Error("the body of a request was read already: mount the handler before body parsers"));
  }
}
