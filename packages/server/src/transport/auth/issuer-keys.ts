import { isObject } from "@devtool/internal/json";
import { isLoopback } from "@devtool/internal/loopback";
import { shownUrl } from "@devtool/internal/shown-url";
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  type JSONWebKeySet,
  type JWTVerifyGetKey,
} from "jose";
import { Code, DevtoolError, invalid } from "../../errors.ts";
import { discoveryUrl } from "./discovery-url.ts";

/** An issuer of tokens, and the source of its public keys. */
export interface IssuerKeys {
  /** The URL of the issuer, exactly as it stands in its tokens. */
  readonly issuer: string;

  /** The keys of the issuer. With them, nothing is fetched. */
  readonly keys?: JSONWebKeySet;

  /**
   * The URL of the key set. Must be https, or http on loopback.
   *
   * It is fetched for the first token, and again after ten minutes. A token
   * with an unknown key id has it fetched again at once, but not within 30
   * seconds of the fetch before.
   *
   * Default: the one in the issuer's discovery document (OpenID Connect
   * Discovery, section 4).
   */
  readonly jwksUri?: string;
}

/** Timeout of a request to the issuer, in milliseconds. */
const TIMEOUT_MS = 5_000;

/**
 * Minimum time between two fetches for unknown key ids, in milliseconds: tokens
 * with invented ids must not flood the issuer.
 */
const COOLDOWN_MS = 30_000;

/** Time that fetched keys are used for, in milliseconds. */
const MAX_AGE_MS = 10 * 60_000;

/**
 * Returns a function that finds the key of a token.
 *
 * Remote keys are fetched for the first token.
 */
export function issuerKeys({
  issuer,
  keys,
  jwksUri,
}: IssuerKeys): JWTVerifyGetKey {
  if (keys) return createLocalJWKSet(keys);
  if (jwksUri !== undefined) return remoteKeys(jwksUri);
  assertSafe("issuer", issuer);
  let discovered: Promise<JWTVerifyGetKey> | undefined;
  return async (header, token) => {
    discovered ??= discoverJwksUri(issuer).then(remoteKeys);
    // Tries again for the next token after a failure.
    discovered.catch(() => (discovered = undefined));
    return (await discovered)(header, token);
  };
}

function remoteKeys(uri: string): JWTVerifyGetKey {
  const url = assertSafe("jwks_uri", uri);
  return createRemoteJWKSet(url, {
    timeoutDuration: TIMEOUT_MS,
    cooldownDuration: COOLDOWN_MS,
    cacheMaxAge: MAX_AGE_MS,
  });
}

async function discoverJwksUri(issuer: string): Promise<string> {
  const response = await fetch(discoveryUrl(issuer), {
    redirect: "error",
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const document: unknown = response.ok ? await response.json() : undefined;
  if (
    isObject(document) &&
    document.issuer === issuer &&
    typeof document.jwks_uri === "string"
  ) {
    return document.jwks_uri;
  }
  throw new DevtoolError(
    `issuer ${JSON.stringify(shownUrl(issuer))} has no valid discovery document`,
    Code.FailedPrecondition,
    {
      remedy: "set jwks_uri, or correct the issuer",
    },
  );
}

/**
 * Parses a URL that keys are fetched from. Throws unless it is https, or http
 * on loopback.
 */
function assertSafe(field: string, text: string): URL {
  const url = URL.parse(text);
  const isSafe =
    url?.protocol === "https:" ||
    (url?.protocol === "http:" && isLoopback(url.hostname));
  if (url && isSafe) return url;
  throw invalid(
    field,
    shownUrl(text),
    "must be an https URL: keys fetched without TLS can be anybody's",
  );
}
