import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { listOrEmpty, objectOrEmpty } from "@devtool/internal/json";
import { MODIFIED_ARGUMENTS_URI, SHOWN_DIGEST_URI } from "@devtool/schema";

/**
 * One interface of an agent, as its card lists it.
 */
export interface AgentInterface {
  readonly url: string;
  /**
   * Major and minor version only.
   */
  readonly protocolVersion: string;
  readonly binding: string;
}

/**
 * Returns the interfaces of a card in its order: those in the form of 1.0, then
 * those of 0.3. Relative URLs are resolved against `base`, and those that are
 * invalid left out.
 */
export function readInterfaces(
  card: JsonObject,
  base: string,
): AgentInterface[] {
  const current = listOrEmpty(card.supportedInterfaces).map((json) => {
    const { url, protocolBinding, protocolVersion } = objectOrEmpty(json);
    return readInterface(url, protocolBinding, protocolVersion, base);
  });
  const { url, preferredTransport = "JSONRPC", protocolVersion = "0.3" } = card;
  const main =
    url === undefined ? [] : [{ url, transport: preferredTransport }];
  const additional = listOrEmpty(card.additionalInterfaces).map(objectOrEmpty);
  const older = [...main, ...additional].map((item) =>
    readInterface(item.url, item.transport, protocolVersion, base),
  );
  return [...current, ...older].filter((each) => each.url !== "");
}

function readInterface(
  url: JsonValue | undefined,
  binding: JsonValue | undefined,
  version: JsonValue | undefined,
  base: string,
): AgentInterface {
  // An interface of gRPC may be a host and port alone.
  const isHost = binding === "GRPC" && !/^https?:/.test(String(url));
  return {
    url: isHost
      ? `${new URL(base).protocol}//${String(url)}`
      : (URL.parse(String(url), base)?.href ?? ""),
    binding: String(binding),
    protocolVersion: String(version).split(".").slice(0, 2).join("."),
  };
}

/**
 * Part of the extension's URI in every version. Whether the version is
 * compatible is a requirement of its own (CARD-2).
 */
const EXTENSION_PATH = "/docs/a2a/developer-profile/";

/**
 * Returns what an agent claims in its card, by the names that cases use in
 * `needs`.
 */
export function readClaims(card: JsonObject): ReadonlySet<string> {
  const { extensions, ...capabilities } = objectOrEmpty(card.capabilities);
  const claims = new Set(
    Object.keys(capabilities).filter((name) => capabilities[name] === true),
  );
  for (const { uri, params } of listOrEmpty(extensions).map(objectOrEmpty)) {
    if (String(uri).includes(EXTENSION_PATH)) {
      claims.add("extension");
      const { follows } = objectOrEmpty(params);
      if (follows !== undefined) claims.add("follows");
      for (const name of listOrEmpty(follows)) claims.add(`follows.${name}`);
    }
    if (uri === SHOWN_DIGEST_URI) claims.add("shownDigest");
    if (uri === MODIFIED_ARGUMENTS_URI) claims.add("modifiedArguments");
  }
  if (card.supportsAuthenticatedExtendedCard === true) {
    claims.add("extendedAgentCard");
  }
  // An empty alternative lets clients in without credentials.
  const alternatives = [card.security, card.securityRequirements]
    .flatMap(listOrEmpty)
    .map(objectOrEmpty)
    .map((one) => Object.keys(objectOrEmpty(one.schemes ?? one)));
  const isSecured = alternatives.every((names) => names.length > 0);
  if (alternatives.length > 0 && isSecured) claims.add("security");
  return claims;
}
