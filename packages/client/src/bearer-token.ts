import { Code, ConnectError } from "@connectrpc/connect";

/**
 * A bearer token, or a function that returns the current one. An empty token is
 * not sent.
 *
 * The function is called before each call. If the server refuses the token
 * (HTTP 401), the function is called once more with the refused token; if it
 * returns another one, the call is repeated. Repeating is safe for every
 * method, because a server does nothing for a call whose token it refuses.
 *
 * ```ts
 * const token: BearerToken = async (refused) => (refused ? await login() : cachedToken);
 * ```
 */
export type BearerToken =
  | string
  | ((refused?: string) => string | Promise<string>);

/**
 * Returns the token to send first.
 */
export async function currentToken(source: BearerToken): Promise<string> {
  return typeof source === "string" ? source : source();
}

/**
 * Returns the `authorization` header for a token, or no header for an empty
 * token.
 */
export function bearerHeader(token: string): Record<string, string> {
  return token === "" ? {} : { authorization: `Bearer ${token}` };
}

/**
 * Sends a request with a token, and repeats it with a replacement token after
 * HTTP 401.
 */
export async function fetchWithToken(
  source: BearerToken,
  send: (headers: Readonly<Record<string, string>>) => Promise<Response>,
): Promise<Response> {
  const token = await currentToken(source);
  const response = await send(bearerHeader(token));
  const other =
    response.status === 401 ? await replacementToken(source, token) : undefined;
  if (other === undefined) return response;
  await response.body?.cancel();
  return send(bearerHeader(other));
}

/**
 * Makes a call with a token, and repeats it with a replacement token after
 * `Code.Unauthenticated`.
 */
export async function callWithToken<T>(
  source: BearerToken,
  call: (token: string) => Promise<T>,
): Promise<T> {
  const token = await currentToken(source);
  try {
    return await call(token);
  } catch (reason) {
    const { code } = ConnectError.from(reason);
    const other =
      code === Code.Unauthenticated
        ? await replacementToken(source, token)
        : undefined;
    if (other === undefined) throw reason;
    return call(other);
  }
}

/**
 * Reads a stream opened with a token. Opens it again with a replacement token
 * if the first one is refused before the stream has yielded anything.
 */
export async function* streamWithToken<T>(
  source: BearerToken,
  open: (token: string) => AsyncIterable<T>,
): AsyncIterable<T> {
  const token = await currentToken(source);
  let isEmpty = true;
  try {
    for await (const item of open(token)) {
      isEmpty = false;
      yield item;
    }
    return;
  } catch (reason) {
    if (!isEmpty || ConnectError.from(reason).code !== Code.Unauthenticated) {
      throw reason;
    }
    const other = await replacementToken(source, token);
    if (other === undefined) throw reason;
    yield* open(other);
  }
}

/**
 * Asks the source for a token to send instead of a refused one; undefined if it
 * has no other.
 */
async function replacementToken(
  source: BearerToken,
  refused: string,
): Promise<string | undefined> {
  if (typeof source === "string") return undefined;
  const other = await source(refused);
  return other === refused ? undefined : other;
}
