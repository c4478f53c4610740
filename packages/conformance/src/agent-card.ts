import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { fieldsOf, itemsOf } from "./json-fields.ts";

/** One of the ways to an agent, as its card lists them. */
export interface Interface {
  readonly url: string;
  readonly protocolVersion: string;
  readonly binding: string;
}

/** The ways to an agent in the order of its card: in the form of 1.0, then in that of 0.3. */
export function interfacesIn(card: JsonObject, base: string): Interface[] {
  const current = itemsOf(card.supportedInterfaces).map((json) => {
    const { url, protocolBinding, protocolVersion } = fieldsOf(json);
    return interfaceOf({ url, binding: protocolBinding, version: protocolVersion }, base);
  });
  const { url, preferredTransport = "JSONRPC", protocolVersion = "0.3" } = card;
  const main = url === undefined ? [] : [{ url, transport: preferredTransport }];
  const older = [...main, ...itemsOf(card.additionalInterfaces).map(fieldsOf)].map((item) =>
    interfaceOf({ url: item.url, binding: item.transport, version: protocolVersion }, base),
  );
  return [...current, ...older];
}

interface Named {
  readonly url: JsonValue | undefined;
  readonly binding: JsonValue | undefined;
  readonly version: JsonValue | undefined;
}

/** Of a version only major and minor count. */
function interfaceOf({ url, binding, version }: Named, base: string): Interface {
  const isGrpc = binding === "GRPC" && !/^https?:/.test(String(url));
  return {
    url: isGrpc ? `${new URL(base).protocol}//${String(url)}` : new URL(String(url), base).href,
    binding: String(binding),
    protocolVersion: String(version).split(".").slice(0, 2).join("."),
  };
}

/** The extension in any version; whether that is one to speak is a requirement (CARD-2). */
const EXTENSION_PATH = "/docs/a2a/developer-profile/";

/** What an agent claims in its card, as the cases name their needs. */
export function claimsIn(card: JsonObject): ReadonlySet<string> {
  const { extensions, ...capabilities } = fieldsOf(card.capabilities);
  const claims = Object.entries(capabilities).flatMap(([name, value]) => (value === true ? [name] : []));
  const hasExtension = itemsOf(extensions).some((json) => String(fieldsOf(json).uri).includes(EXTENSION_PATH));
  const isExtended = card.supportsAuthenticatedExtendedCard === true;
  const isSecured = [card.security, card.securityRequirements].some((list) => itemsOf(list).length > 0);
  return new Set([
    ...claims,
    ...(hasExtension ? ["extension"] : []),
    ...(isExtended ? ["extendedAgentCard"] : []),
    ...(isSecured ? ["security"] : []),
  ]);
}
