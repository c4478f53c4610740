import { isExtensionUri } from "@devtool/schema";
import type { StreamView } from "@devtool/schema/a2a-v03";

/** The headers in which clients list the extensions they use: that of A2A 0.3, and that of 1.0. Either works in both. */
export const EXTENSION_HEADERS = ["x-a2a-extensions", "a2a-extensions"] as const;

/** How much of a conversation a request asks to be shown: a view of its own, or the one that the conversation has. */
export type AskedView = StreamView | "inherited";

/** What a request says about the extension (CARD-3). */
export interface Activation {
  readonly view: AskedView;
  /** Whether the request makes the extension active in its conversation. */
  readonly activates: boolean;
  /** The response header that names the extension when it is active. */
  readonly header: string;
}

/** What of a request decides about the extension. */
export interface ActivationRequest {
  /** The value of a header; undefined when the request does not have it. */
  readonly headerOf: (name: string) => string | undefined;
  /** Whether the content of the request shows that its client knows the extension. */
  readonly shows: boolean;
  /** Whether the request begins or continues a conversation. All others may use the extension, and leave the conversation as it is. */
  readonly speaks: boolean;
  /** The response header of the version of A2A, for requests that have none. */
  readonly ownHeader: (typeof EXTENSION_HEADERS)[number];
}

/**
 * Says which view a request asks for, and whether it makes the extension active. A header decides: a list without the
 * extension opts out. Without a header, what the request holds does; where that says nothing, the conversation decides.
 */
export function activationOf({ headerOf, shows, speaks, ownHeader }: ActivationRequest): Activation {
  const present = EXTENSION_HEADERS.filter((name) => headerOf(name) !== undefined);
  if (present.length === 0) {
    return { view: shows ? "extension" : "inherited", activates: shows && speaks, header: ownHeader };
  }
  const named = present.find((name) => namesExtension(headerOf(name) ?? ""));
  return { view: named ? "extension" : "plain", activates: named !== undefined && speaks, header: named ?? ownHeader };
}

function namesExtension(header: string): boolean {
  return header.split(",").some((uri) => isExtensionUri(uri.trim()));
}

/** What a task and its events say about their conversation. */
export interface Active {
  readonly extensionActive: boolean;
}

/** The view of something in a conversation: the one that was asked for, or else the conversation's. */
export function viewOf(asked: AskedView, { extensionActive }: Active): StreamView {
  if (asked !== "inherited") return asked;
  return extensionActive ? "extension" : "plain";
}
