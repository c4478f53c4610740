import { type Client, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { bearerInterceptor, createDevtoolClient, type DevtoolClient } from "@devtool/client";
import { BrowserAccessService } from "@devtool/schema";

/** What the page calls. */
export interface ConsoleClient extends DevtoolClient {
  readonly browsers: Client<typeof BrowserAccessService>;
}

/** The name of this program in the log of answers. */
export const CLIENT_LABEL = "console";

/** Creates the transport to the server that the page came from. An empty token calls without credentials. */
export function createTransport(token: string): Transport {
  const baseUrl = new URL("..", location.href).href.replace(/\/$/, "");
  return createConnectTransport({
    baseUrl,
    useBinaryFormat: true,
    interceptors: token === "" ? [] : [bearerInterceptor(token)],
  });
}

/** Creates the clients of the services. */
export function createConsoleClient(token: string): ConsoleClient {
  const transport = createTransport(token);
  return { ...createDevtoolClient(transport), browsers: createClient(BrowserAccessService, transport) };
}
