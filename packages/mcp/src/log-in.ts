import { randomBytes, timingSafeEqual } from "node:crypto";
import { createServer, type Server } from "node:http";
import { abortable } from "@devtool/internal/abortable";
import { pageAddress } from "@devtool/internal/page-address";
import type { McpServer } from "@devtool/schema";
import { Code, DevtoolError, VERSION } from "@devtool/server/agent";
import type {
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import type { ConnectionOptions } from "./mcp-connection.ts";
import { openConnection } from "./open-connection.ts";
import { type LoginStore, loginUrl, type McpLogin } from "./stored-login.ts";

/** How a user logs in at a server. */
export interface LogInOptions
  extends Pick<ConnectionOptions, "environment" | "now"> {
  readonly store: LoginStore;
  /**
   * The id that devtool has at the authorization server: one that was
   * registered there, or the URL of a client metadata document. Default: one
   * that is registered now.
   */
  readonly clientId?: string | undefined;
  /** Sends the user to a page. */
  readonly open: (address: string) => Promise<void>;
}

/**
 * Logs a user in at an MCP server, by the authorization code grant of OAuth 2.1
 * with PKCE: the server says which authorization server it trusts, the user
 * agrees there, and comes back to a port of this machine that only the loopback
 * interface reaches. Then connects to the server.
 *
 * Returns the number of its tools, and whether it asked for a login. The login
 * is stored even if the server cannot be used after it. Throws when the user or
 * a server refuses.
 */
export async function logIn(
  server: McpServer,
  options: LogInOptions,
  signal: AbortSignal,
): Promise<{ readonly toolCount: number; readonly wasAsked: boolean }> {
  const url = loginUrl(server);
  const kept = await options.store.read(url);
  await using redirect = await Redirect.listen(kept?.redirectUrl);
  const provider = new LoginProvider({ ...options, url, kept, redirect });
  const connection = await openConnection(
    server,
    {
      ...options,
      clientInfo: { name: "devtool", version: VERSION },
      workspacePath: process.cwd(),
      authorizationOf: () => ({
        provider,
        callback: (whileWaiting) => redirect.parameters(whileWaiting),
      }),
    },
    signal,
  );
  await using _connection = connection;
  const { length: toolCount } = await connection.tools(signal);
  return { toolCount, wasAsked: provider.wasAsked };
}

/** The address to which users come back from an authorization server. */
class Redirect implements AsyncDisposable {
  readonly url: string;
  /** Proves that an answer belongs to this login. */
  readonly state: string = randomBytes(32).toString("base64url");
  readonly #server: Server;
  readonly #parameters = Promise.withResolvers<URLSearchParams>();

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.url = `http://127.0.0.1:${port}/callback`;
    server.on("request", (request, response) => {
      const url = URL.parse(request.url ?? "", this.url);
      const isOurs =
        request.method === "GET" &&
        url?.pathname === "/callback" &&
        isEqual(url.searchParams.get("state") ?? "", this.state);
      if (url && isOurs) this.#parameters.resolve(url.searchParams);
      const text = isOurs
        ? "You can close this page and go back to the terminal."
        : "This is not an answer to a login that waits.";
      response.writeHead(isOurs ? 200 : 400, {
        "content-type": "text/plain; charset=utf-8",
        "cache-control": "no-store",
        connection: "close",
      });
      response.end(`${text}\n`);
    });
  }

  /**
   * Listens where the last login did, so that the authorization server knows
   * the address, or at any free port.
   */
  static async listen(last: string | undefined): Promise<Redirect> {
    const port = Number(URL.parse(last ?? "")?.port ?? 0);
    const server = createServer();
    const bound = await listen(server, port).catch(() => listen(server, 0));
    return new Redirect(server, bound);
  }

  /** Waits until the user comes back. */
  parameters(signal: AbortSignal): Promise<URLSearchParams> {
    return abortable(this.#parameters.promise, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    this.#server.closeIdleConnections();
    await promise;
  }
}

async function listen(server: Server, port: number): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen(port, "127.0.0.1", resolve);
  await promise.finally(() => server.off("error", reject));
  const address = server.address();
  return typeof address === "object" && address ? address.port : port;
}

function isEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

interface LoginProviderOptions
  extends Pick<LogInOptions, "clientId" | "open" | "store"> {
  readonly url: string;
  /** The login before this one. */
  readonly kept: McpLogin | undefined;
  readonly redirect: Redirect;
}

/** One login, as the SDK asks for it and reports on it. */
class LoginProvider implements OAuthClientProvider {
  readonly redirectUrl: string;
  readonly clientMetadata: OAuthClientMetadata;
  readonly clientMetadataUrl?: string;
  readonly #options: LoginProviderOptions;
  #client: StoredOAuthClientInformation | undefined;
  #tokens: StoredOAuthTokens | undefined;
  #verifier = "";
  #discovery: OAuthDiscoveryState | undefined;

  constructor(options: LoginProviderOptions) {
    const { clientId, kept, redirect } = options;
    this.#options = options;
    this.redirectUrl = redirect.url;
    this.clientMetadata = {
      client_name: "devtool",
      redirect_uris: [redirect.url],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    };
    if (clientId?.startsWith("https://")) {
      this.clientMetadataUrl = clientId;
    } else if (clientId !== undefined) {
      this.#client = { client_id: clientId };
    } else if (kept?.redirectUrl === redirect.url) {
      this.#client = kept.client;
    }
  }

  /** Whether the server asked for a login. */
  get wasAsked(): boolean {
    return this.#verifier !== "";
  }

  state(): string {
    return this.#options.redirect.state;
  }

  async redirectToAuthorization(url: URL): Promise<void> {
    const address = pageAddress(url.href);
    if (address === undefined) {
      throw new DevtoolError(
        `the authorization server names the page ${JSON.stringify(url.href)}, which is not an http or https address`,
        Code.FailedPrecondition,
      );
    }
    await this.#options.open(address);
  }

  /** The SDK uses it at its issuer alone: an id means nothing elsewhere. */
  clientInformation(): StoredOAuthClientInformation | undefined {
    return this.#client;
  }

  saveClientInformation(client: StoredOAuthClientInformation): void {
    this.#client = client;
  }

  invalidateCredentials(scope: string): void {
    const isFixed = this.#options.clientId !== undefined;
    if ((scope === "all" || scope === "client") && !isFixed) {
      this.#client = undefined;
    }
    if (scope === "all" || scope === "tokens") this.#tokens = undefined;
  }

  tokens(): StoredOAuthTokens | undefined {
    return this.#tokens;
  }

  async saveTokens(tokens: StoredOAuthTokens): Promise<void> {
    this.#tokens = tokens;
    if (!this.#discovery || !this.#client) return;
    const { store, url } = this.#options;
    await using _lock = await store.lock(url);
    await store.write(url, {
      discovery: this.#discovery,
      client: this.#client,
      tokens,
      redirectUrl: this.redirectUrl,
    });
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }

  saveDiscoveryState(discovery: OAuthDiscoveryState): void {
    this.#discovery = discovery;
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#discovery;
  }
}
