import type { JsonValue } from "@bufbuild/protobuf";
import { EXTENSION_URI, isExtensionUri } from "@devtool/schema";
import { extensionMetadata } from "@devtool/schema/a2a-v03";
import { type HttpRequest, headerOf } from "../route.ts";

/** The headers in which clients name the extensions they know, 0.3's first. */
const HEADERS = ["x-a2a-extensions", "a2a-extensions"] as const;

/**
 * Tells whether a client activates the extension (CARD-3), and gives the headers that say so in the response. A client
 * does it by a header, or by data under the extension's URI in the metadata of its message or parameters.
 */
export function activationOf(
  request: HttpRequest,
  params: JsonValue | undefined,
): Readonly<Record<string, string>> | undefined {
  const named = HEADERS.find((name) => namesExtension(headerOf(request, name)));
  if (named === undefined && !holdsExtension(params)) return undefined;
  return { [named ?? HEADERS[0]]: EXTENSION_URI };
}

function namesExtension(header: string): boolean {
  return header.split(",").some((uri) => isExtensionUri(uri.trim()));
}

function holdsExtension(params: JsonValue | undefined): boolean {
  const { metadata, message } = objectOf(params);
  return [metadata, objectOf(message).metadata].some((data) => extensionMetadata(objectOf(data)) !== undefined);
}

function objectOf(value: JsonValue | undefined): Readonly<Record<string, JsonValue>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}
