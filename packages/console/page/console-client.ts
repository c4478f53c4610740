import { type Client, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import {
  bearerInterceptor,
  createDevtoolClient,
  type DevtoolClient,
} from "@devtool/client";
import { BrowserAccessService } from "@devtool/schema";

/** What the page calls. */
export interface ConsoleClient extends DevtoolClient {
  readonly browsers: Client<typeof BrowserAccessService>;
  /**
   * Sends an HTTP request to the server, with the page's credentials; the path
   * begins behind the server's address.
   */
  readonly request: (path: string, init: RequestInit) => Promise<Response>;
}

/** The name of this program in the log of answers. */
export const CLIENT_LABEL = "console";

/**
 * Creates the transport to the server that the page came from. An empty token
 * calls without credentials.
 */
export function createTransport(token: string): Transport {
  return createConnectTransport({
    baseUrl: baseUrl(),
    useBinaryFormat: true,
    interceptors: token === "" ? [] : [bearerInterceptor(token)],
  });
}

/** Creates the clients of the services. */
export function createConsoleClient(token: string): ConsoleClient {
  const transport = createTransport(token);
  return {
    ...createDevtoolClient(transport),
    browsers: createClient(BrowserAccessService, transport),
    request: (path, init) => {
      const headers = new Headers(init.headers);
      headers.set("authorization", `Bearer ${token}`);
      return fetch(`${baseUrl()}${path}`, { ...init, headers });
    },
  };
}

/**
 * The address of the server that the page came from, without a slash at its
 * end.
 */
function baseUrl(): string {
  return new URL("..", location.href).href.replace(/\/$/, "");
}
