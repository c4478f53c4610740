import { type Client, createClient } from "@connectrpc/connect";
import { bearerInterceptor } from "@devtool/client";
import { BrowserAccessService } from "@devtool/schema";
import { defined } from "@devtool/schema/json";
import { type ConnectionOptions, findServer, trustIn } from "./connection.ts";
import { defaultDataDirectory, discoveryPath } from "./discovery.ts";
import type { Io } from "./io.ts";

/** The service that lets browsers in, and the address of its server. */
export interface BrowserAccess {
  readonly access: Client<typeof BrowserAccessService>;
  readonly url: string;
  /** The URL at which browsers on other machines reach the server. */
  readonly publicUrl: string;
  /** The certificate chain of the server in PEM. Default: not known. */
  readonly certificate?: string;
}

/** Connects to the running or named server, over Connect. Throws when there is none. */
export async function browserAccess(options: ConnectionOptions, io: Io): Promise<BrowserAccess> {
  const address = await findServer(options, io, AbortSignal.timeout(10_000));
  if (!address) {
    const path = discoveryPath(options.data ?? defaultDataDirectory(io.env));
    throw new Error(`no server is running (looked at ${path}): start one with "devtool serve", or name one with --url`);
  }
  const { url, token, certificate, info } = address;
  const { nodeOptions } = await trustIn(certificate);
  const { createConnectTransport } = await import("@connectrpc/connect-node");
  const interceptors = [bearerInterceptor(token)];
  const transport = createConnectTransport({ baseUrl: url, httpVersion: "1.1", interceptors, nodeOptions });
  const access = createClient(BrowserAccessService, transport);
  return { access, url, publicUrl: info?.publicUrl || url, ...defined({ certificate }) };
}
