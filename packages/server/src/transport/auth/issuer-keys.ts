import { createLocalJWKSet, createRemoteJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import { Code, DevtoolError, invalid } from "../../errors.ts";
import { discoveryUrl } from "./discovery-url.ts";

/** Where the public keys of an issuer are. */
export interface IssuerKeys {
  /** The issuer, character by character as in its tokens: a URL. */
  readonly issuer: string;
  /** Its keys themselves; nothing is fetched then. */
  readonly keys?: JSONWebKeySet;
  /** Where its keys are. Default: what its discovery document says (OpenID Connect Discovery, section 4). */
  readonly jwksUri?: string;
}

const TIMEOUT_MS = 5_000;
/** An unknown key id leads to a fetch, but not more often: tokens with invented ids must not become a flood. */
const COOLDOWN_MS = 30_000;
const MAX_AGE_MS = 10 * 60_000;

/** Finds the key of a token. Keys are fetched when the first token comes, and kept ten minutes. */
export function issuerKeys({ issuer, keys, jwksUri }: IssuerKeys): JWTVerifyGetKey {
  if (keys) return createLocalJWKSet(keys);
  if (jwksUri !== undefined) return remoteKeys(jwksUri);
  assertSafe("issuer", issuer);
  let finding: Promise<JWTVerifyGetKey> | undefined;
  return async (header, token) => {
    finding ??= discover(issuer).then(remoteKeys);
    // What failed once may work the next time.
    finding.catch(() => (finding = undefined));
    return (await finding)(header, token);
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

async function discover(issuer: string): Promise<string> {
  const response = await fetch(discoveryUrl(issuer), { redirect: "error", signal: AbortSignal.timeout(TIMEOUT_MS) });
  const found: unknown = response.ok ? await response.json() : undefined;
  if (isDiscovery(found) && found.issuer === issuer) return found.jwks_uri;
  throw new DevtoolError(`issuer ${JSON.stringify(issuer)} does not describe itself`, Code.FailedPrecondition, {
    remedy: "set jwks_uri, or correct the issuer",
  });
}

function isDiscovery(json: unknown): json is { readonly issuer: string; readonly jwks_uri: string } {
  return (
    typeof json === "object" &&
    json !== null &&
    "issuer" in json &&
    "jwks_uri" in json &&
    typeof json.issuer === "string" &&
    typeof json.jwks_uri === "string"
  );
}

/** Keys that come over the open network without TLS are anybody's. */
function assertSafe(field: string, text: string): URL {
  const url = URL.parse(text);
  const isLoopback = url?.hostname === "localhost" || url?.hostname === "[::1]" || /^127\./.test(url?.hostname ?? "");
  if (url && (url.protocol === "https:" || (url.protocol === "http:" && isLoopback))) return url;
  throw invalid(field, text, "must be an https URL: keys fetched without TLS can be anybody's");
}
