import { quote, WireError } from "./wire-error.ts";

/** The URI that identifies the development-tool extension, and its version (CARD-2). */
export const EXTENSION_URI =
  "https://github.com/google-gemini/gemini-cli/blob/main/docs/a2a/developer-profile/v0/spec.md";

/** The URI under which settings beyond the RFC travel (SESSION-3). */
export const SESSION_SETTINGS_URI = "https://devtool.dev/a2a/session-settings/v1alpha";

/** The URI under which the settings of one message travel (STREAM-8). */
export const MESSAGE_SETTINGS_URI = "https://devtool.dev/a2a/message-settings/v1alpha";

/** The URI under which a task carries what A2A has no field for: the messages that wait (STREAM-8). */
export const TASK_URI = "https://devtool.dev/a2a/task/v1alpha";

/** The URI under which an answer says that it repeats an earlier exchange (STREAM-7). */
export const REPLAY_URI = "https://devtool.dev/a2a/replay/v1alpha";

/** The URI under which an event carries what the RFC has no kind or field for: usage, notices, how a call is run. */
export const TASK_EVENT_URI = "https://devtool.dev/a2a/task-event/v1alpha";

/** The URI under which a part of A2A 0.3 carries what only 1.0 has fields for: the media type and file name of text and data. */
export const PART_URI = "https://devtool.dev/a2a/part/v1alpha";

/** A version in the sense of SemVer 2.0.0; parts that a URI leaves out are 0. */
export interface ExtensionVersion {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

/** Reads the version off the path of an extension URI: the segment `v<major>[.<minor>[.<patch>]]`. Undefined when it has none. */
export function parseExtensionVersion(uri: string): ExtensionVersion | undefined {
  const segment = uri
    .split(/[?#]/, 1)[0]
    ?.split("/")
    .find((part) => VERSION.test(part));
  const match = segment === undefined ? undefined : VERSION.exec(segment);
  if (!match) return undefined;
  return { major: Number(match[1]), minor: Number(match[2] ?? 0), patch: Number(match[3] ?? 0) };
}

const VERSION = /^v(0|[1-9]\d*)(?:\.(0|[1-9]\d*)(?:\.(0|[1-9]\d*))?)?$/;

/** Tells whether two versions can work together: same major from 1 on, same major and minor below. */
export function isCompatibleVersion(one: ExtensionVersion, other: ExtensionVersion): boolean {
  return one.major === other.major && (one.major > 0 || one.minor === other.minor);
}

/** Tells whether a URI names this extension in a version that we can work with. */
export function isExtensionUri(uri: string): boolean {
  if (uri === EXTENSION_URI) return true;
  const version = parseExtensionVersion(uri);
  return version !== undefined && nameOf(uri) === nameOf(EXTENSION_URI) && isCompatibleVersion(version, OWN_VERSION);
}

const OWN_VERSION: ExtensionVersion = { major: 0, minor: 0, patch: 0 };

/**
 * Finds this extension among the URIs of an agent card. Undefined when it is not there. Throws a `WireError` that names
 * both versions when it is there in one that we cannot work with, or in none.
 */
export function findExtension(uris: readonly string[]): string | undefined {
  const named = uris.filter((uri) => nameOf(uri) === nameOf(EXTENSION_URI));
  const usable = named.find(isExtensionUri);
  const [other] = named;
  if (usable !== undefined || other === undefined) return usable;
  const theirs = parseExtensionVersion(other);
  throw new WireError(
    "capabilities.extensions",
    quote(other),
    `the agent has ${theirs ? `version ${format(theirs)}` : "no version"} of the extension, this client speaks ${format(OWN_VERSION)}: use matching releases`,
  );
}

/**
 * Says why a key that looks like this extension cannot be used: it names another version, none, or is misspelt. Undefined
 * for a version that works, and for keys of other extensions.
 */
export function extensionVersionProblem(key: string): string | undefined {
  if (isExtensionUri(key)) return undefined;
  const theirs = parseExtensionVersion(key);
  if (nameOf(key) === nameOf(EXTENSION_URI) && theirs) {
    return `is version ${format(theirs)} of the extension, this agent speaks ${format(OWN_VERSION)}: use the key ${EXTENSION_URI}`;
  }
  const isMeant = /a2a\W+developer-profile/i.test(key);
  return isMeant ? `is not the URI of the extension: use the key ${EXTENSION_URI}` : undefined;
}

/** Returns whether a key names our settings of a session, but not in the form that is read. */
export function isOtherSessionSettingsUri(key: string): boolean {
  return key !== SESSION_SETTINGS_URI && /devtool\.dev\/a2a\/session-settings/i.test(key);
}

/** The URI without scheme and version, to tell an extension from another. */
function nameOf(uri: string): string {
  const path = uri.replace(/^https?:\/\//, "").split("/");
  return path.filter((part) => !/^v\d/.test(part)).join("/");
}

function format({ major, minor, patch }: ExtensionVersion): string {
  return `${major}.${minor}.${patch}`;
}
