import { isExtensionUri } from "@devtool/schema";
import type { StreamView } from "@devtool/schema/a2a-v03";

/**
 * The headers in which clients list their extensions: first that of A2A 0.3,
 * then that of 1.0.
 *
 * Both versions accept either.
 */
const EXTENSION_HEADERS = ["x-a2a-extensions", "a2a-extensions"] as const;

/**
 * The view that a request asks for: `inherited` asks for that of its
 * conversation.
 */
export type AskedView = StreamView | "inherited";

/** All views that a request can ask for. */
export const VIEWS: readonly AskedView[] = ["extension", "plain", "inherited"];

/** The use that a request makes of the extension (CARD-3). */
export interface Activation {
  readonly view: AskedView;
  /** Whether the request activates the extension in its conversation. */
  readonly activates: boolean;
  /** The response header that names the extension when it is active. */
  readonly header: string;
}

/** The parts of a request from which `activationOf` decides. */
export interface ActivationRequest {
  /**
   * Returns the value of a header; undefined when the request does not have it.
   */
  readonly headerOf: (name: string) => string | undefined;

  /**
   * Whether the content of the request shows that its client knows the
   * extension.
   */
  readonly knowsExtension: boolean;

  /**
   * Whether the request begins or continues a conversation.
   *
   * Other requests never activate the extension for it.
   */
  readonly startsTurn: boolean;

  /**
   * The response header of this version of A2A, for requests without a header
   * that lists extensions.
   */
  readonly ownHeader: (typeof EXTENSION_HEADERS)[number];
}

/**
 * Decides which view a request asks for, and whether it activates the
 * extension.
 *
 * A header that lists extensions decides: without the extension in its list,
 * the client opts out. Without such a header, the content of the request
 * decides, and failing that its conversation.
 */
export function activationOf({
  headerOf,
  knowsExtension,
  startsTurn,
  ownHeader,
}: ActivationRequest): Activation {
  const present = EXTENSION_HEADERS.filter(
    (name) => headerOf(name) !== undefined,
  );
  if (present.length === 0) {
    const view = knowsExtension ? "extension" : "inherited";
    return { view, activates: knowsExtension && startsTurn, header: ownHeader };
  }
  const header = present.find((name) =>
    (headerOf(name) ?? "").split(",").some((uri) => isExtensionUri(uri.trim())),
  );
  if (header === undefined) {
    return { view: "plain", activates: false, header: ownHeader };
  }
  return { view: "extension", activates: startsTurn, header };
}

/**
 * A task or an event, which both record whether the extension is active in
 * their conversation.
 */
export interface Active {
  readonly extensionActive: boolean;
}

/**
 * Returns the view in which a request sees a task or an event: the one that it
 * asks for, or that of the conversation.
 */
export function viewOf(
  asked: AskedView,
  { extensionActive }: Active,
): StreamView {
  if (asked !== "inherited") return asked;
  return extensionActive ? "extension" : "plain";
}

/**
 * Returns the view in which a call sees a task or an event.
 *
 * The response names the extension when that is its view.
 */
export function enterView(
  call: { readonly view: AskedView; readonly nameExtension: () => void },
  shown: Active,
): StreamView {
  const view = viewOf(call.view, shown);
  if (view === "extension") call.nameExtension();
  return view;
}
