import { Code, ConnectError } from "@connectrpc/connect";

/**
 * A bearer token, or a function that gives the one to send: it is called before each call, and once more with the token
 * that the server refused (HTTP 401). The call is repeated only when the function then gives another token; that is safe
 * for every method, since a server does nothing for a token that it refuses.
 */
export type BearerToken = string | ((refused?: string) => string | Promise<string>);

/** Whether requests carry a token at all. */
export function hasToken(source: BearerToken): boolean {
  return source !== "";
}

/** The token to send first. */
export async function tokenOf(source: BearerToken): Promise<string> {
  return typeof source === "string" ? source : source();
}

/** Another token in place of one that the server refused; undefined when the source has no other. */
export async function replacementOf(source: BearerToken, refused: string): Promise<string | undefined> {
  if (typeof source === "string") return undefined;
  const other = await source(refused);
  return other === refused ? undefined : other;
}

/** The header that carries a token; no header without a token. */
export function bearerHeader(token: string): Record<string, string> {
  return token === "" ? {} : { authorization: `Bearer ${token}` };
}

/** Sends a request with a token, and once more with another one after a 401. */
export async function fetchWithToken(
  source: BearerToken,
  send: (headers: Readonly<Record<string, string>>) => Promise<Response>,
): Promise<Response> {
  const token = await tokenOf(source);
  const response = await send(bearerHeader(token));
  const other = response.status === 401 ? await replacementOf(source, token) : undefined;
  if (other === undefined) return response;
  await response.body?.cancel();
  return send(bearerHeader(other));
}

/** Makes a call with a token, and once more with another one after `Code.Unauthenticated`. */
export async function callWithToken<T>(source: BearerToken, call: (token: string) => Promise<T>): Promise<T> {
  const token = await tokenOf(source);
  try {
    return await call(token);
  } catch (reason) {
    const other = isUnauthenticated(reason) ? await replacementOf(source, token) : undefined;
    if (other === undefined) throw reason;
    return call(other);
  }
}

/** Reads a stream with a token, and once more with another one when the first is refused before anything came. */
export async function* streamWithToken<T>(
  source: BearerToken,
  open: (token: string) => AsyncIterable<T>,
): AsyncIterable<T> {
  const token = await tokenOf(source);
  let isEmpty = true;
  try {
    for await (const item of open(token)) {
      isEmpty = false;
      yield item;
    }
    return;
  } catch (reason) {
    if (!isEmpty || !isUnauthenticated(reason)) throw reason;
    const other = await replacementOf(source, token);
    if (other === undefined) throw reason;
    yield* open(other);
  }
}

function isUnauthenticated(reason: unknown): boolean {
  return ConnectError.from(reason).code === Code.Unauthenticated;
}
