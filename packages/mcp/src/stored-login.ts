import { isObject, parseJsonOrUndefined } from "@devtool/internal/json";
import type { McpServer } from "@devtool/schema";
import { Code, DevtoolError } from "@devtool/server/agent";
import type {
  AuthProvider,
  FetchLike,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import { describeError } from "./describe-error.ts";
import type { McpAuthorization } from "./mcp-transport.ts";
import { loadSdk } from "./sdk.ts";

/** What a login at an MCP server leaves behind. It holds secrets. */
export interface McpLogin {
  /** Where the authorization server is, and what it supports. */
  readonly discovery: OAuthDiscoveryState;
  /** Who devtool is there. Bound to its issuer. */
  readonly client: StoredOAuthClientInformation;
  /** Bound to the issuer too. */
  readonly tokens: StoredOAuthTokens;
  /** The address to which the user came back. */
  readonly redirectUrl: string;
}

/** Keeps the logins at MCP servers, by the URL of the server. */
export interface LoginStore {
  read(url: string): Promise<McpLogin | undefined>;
  write(url: string, login: McpLogin): Promise<void>;
  remove(url: string): Promise<void>;
  /**
   * Waits until no other process changes the login of a URL, and keeps others
   * from it until the result is disposed of.
   */
  lock(url: string): Promise<AsyncDisposable>;
}

/**
 * Reads a login from the text that was written. Undefined for another text: the
 * user logs in again.
 */
export function parseLogin(text: string): McpLogin | undefined {
  const value: unknown = parseJsonOrUndefined(text);
  return isLogin(value) ? value : undefined;
}

function isLogin(value: unknown): value is McpLogin {
  return (
    isObject(value) &&
    isObject(value.discovery) &&
    typeof value.discovery.authorizationServerUrl === "string" &&
    isObject(value.client) &&
    typeof value.client.client_id === "string" &&
    isObject(value.tokens) &&
    typeof value.tokens.access_token === "string" &&
    typeof value.redirectUrl === "string"
  );
}

/**
 * Returns the URL of a server at which a user can log in. Throws
 * `Code.InvalidArgument` for a program, and for a server whose settings have a
 * credential already.
 */
export function loginUrl({
  name,
  transport,
}: Pick<McpServer, "name" | "transport">): string {
  const title = `MCP server ${JSON.stringify(name)}`;
  if (transport.case !== "http" && transport.case !== "sse") {
    throw new DevtoolError(
      `${title} is a program: it logs in by itself`,
      Code.InvalidArgument,
    );
  }
  const { url, headers } = transport.value;
  if (hasCredential(headers)) {
    throw new DevtoolError(
      `${title} has an Authorization header in its settings`,
      Code.InvalidArgument,
      { remedy: "remove the header to log in" },
    );
  }
  return url;
}

function hasCredential(headers: Readonly<Record<string, string>>): boolean {
  return Object.keys(headers).some(
    (name) => name.toLowerCase() === "authorization",
  );
}

/**
 * Returns how to authorize at servers with the logins of `store`. Tokens that
 * expire are renewed, once for all connections and processes. Where that is not possible, a
 * request fails with the command that logs in.
 *
 * Undefined for a server at which nobody can log in.
 */
export function storedLogins(
  store: LoginStore,
): (server: McpServer) => McpAuthorization | undefined {
  const renewing = new Map<string, Promise<void>>();
  return (server) => {
    const { name, transport } = server;
    if (transport.case !== "http" && transport.case !== "sse") return undefined;
    const { url, headers } = transport.value;
    if (hasCredential(headers)) return undefined;
    let sent: string | undefined;
    return {
      provider: {
        token: async () => {
          sent = (await store.read(url))?.tokens.access_token;
          return sent;
        },
        onUnauthorized: async (refusal) => {
          const refused = sent;
          const attempt =
            renewing.get(url) ??
            renew({ store, url, refused, refusal }).finally(() =>
              renewing.delete(url),
            );
          renewing.set(url, attempt);
          try {
            await attempt;
          } catch (reason) {
            throw new DevtoolError(
              `it requires a login (${describeError(reason)}): run devtool mcp login ${JSON.stringify(name)}`,
              Code.Unauthenticated,
              { cause: reason },
            );
          }
        },
      },
    };
  };
}

/** A request that a server refused for want of a token that it takes. */
type Refusal = Parameters<NonNullable<AuthProvider["onUnauthorized"]>>[0];

/**
 * Renews the tokens of a server, unless another process did it before. Forgets
 * the login where the server has another authorization server now.
 */
async function renew({
  store,
  url,
  refused,
  refusal,
}: {
  readonly store: LoginStore;
  readonly url: string;
  readonly refused: string | undefined;
  readonly refusal: Refusal;
}): Promise<void> {
  const nobody = "nobody has logged in";
  if (!(await store.read(url))) throw new Error(nobody);
  // Two renewals with one token end the login, where tokens count once.
  await using _lock = await store.lock(url);
  const login = await store.read(url);
  if (!login) throw new Error(nobody);
  if (login.tokens.access_token !== refused) return;
  const { authorizationServerUrl, authorizationServerMetadata: metadata } =
    login.discovery;
  const named = await namedIssuers(refusal);
  if (named.length > 0 && !named.some(isSameUrl(authorizationServerUrl))) {
    await store.remove(url);
    throw new Error(
      `its authorization server is ${JSON.stringify(named[0])}, and no longer ${JSON.stringify(authorizationServerUrl)}`,
    );
  }
  const { refresh_token: refreshToken } = login.tokens;
  if (refreshToken === undefined) throw new Error("the login has expired");
  const { refreshAuthorization } = await loadSdk();
  const resource = login.discovery.resourceMetadata?.resource;
  const renewed = await refreshAuthorization(authorizationServerUrl, {
    ...(metadata && { metadata }),
    ...(resource !== undefined && { resource }),
    clientInformation: login.client,
    refreshToken,
    fetchFn: fetchOnce,
  });
  await store.write(url, {
    ...login,
    tokens: { ...login.tokens, ...renewed },
  });
}

/**
 * Lists the authorization servers that a server names now (RFC 9728); none
 * where its metadata cannot be read.
 */
async function namedIssuers({
  response,
  serverUrl,
}: Refusal): Promise<readonly string[]> {
  const {
    discoverOAuthProtectedResourceMetadata: discover,
    extractWWWAuthenticateParams,
  } = await loadSdk();
  const { resourceMetadataUrl } = extractWWWAuthenticateParams(response);
  const from = resourceMetadataUrl ? { resourceMetadataUrl } : {};
  try {
    const metadata = await discover(serverUrl, from, fetchOnce);
    return metadata.authorization_servers ?? [];
  } catch {
    return [];
  }
}

function isSameUrl(one: string): (other: string) => boolean {
  return (other) => URL.parse(one)?.href === URL.parse(other)?.href;
}

/** A redirect would lead a credential elsewhere, so it is an error. */
const fetchOnce: FetchLike = (url, init) =>
  fetch(url, {
    ...init,
    redirect: "error",
    signal: AbortSignal.timeout(30_000),
  });

/**
 * Ends a login: its tokens are revoked at the authorization server, if that
 * supports it (RFC 7009), and forgotten.
 *
 * Returns why the authorization server keeps them; undefined when it does not.
 */
export async function logOut(
  url: string,
  store: LoginStore,
): Promise<string | undefined> {
  const known = await store.read(url);
  if (!known) {
    await store.remove(url);
    return undefined;
  }
  await using _lock = await store.lock(url);
  // Another process may have renewed it.
  const login = (await store.read(url)) ?? known;
  await store.remove(url);
  try {
    return await revoke(login);
  } catch (reason) {
    return describeError(reason);
  }
}

async function revoke({
  discovery,
  client,
  tokens,
}: McpLogin): Promise<string | undefined> {
  const { authorizationServerMetadata: metadata } = discovery;
  if (!metadata || !("revocation_endpoint" in metadata)) {
    return "it has no revocation endpoint";
  }
  const { assertSecureTokenEndpoint } = await loadSdk();
  const { client_id, client_secret } = client;
  const { refresh_token, access_token } = tokens;
  const body = new URLSearchParams({
    token: refresh_token ?? access_token,
    client_id,
    ...(client_secret !== undefined && { client_secret }),
  });
  const address = assertSecureTokenEndpoint(
    String(metadata.revocation_endpoint),
  );
  const response = await fetchOnce(address, { method: "POST", body });
  return response.ok ? undefined : `it answered HTTP ${response.status}`;
}
