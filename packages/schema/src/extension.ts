import { quote, WireError } from "./wire-error.ts";

/** URI of the development-tool extension, including its version (CARD-2). */
export const EXTENSION_URI =
  "https://github.com/google-gemini/gemini-cli/blob/main/docs/a2a/developer-profile/v0/spec.md";

/**
 * Metadata key of SessionSettings: settings of a session that the RFC does not
 * have (SESSION-3).
 */
export const SESSION_SETTINGS_URI =
  "https://devtool.dev/a2a/session-settings/v1alpha";

/** Metadata key of MessageSettings: settings of a single message (STREAM-8). */
export const MESSAGE_SETTINGS_URI =
  "https://devtool.dev/a2a/message-settings/v1alpha";

/**
 * Metadata key of what a task has beyond A2A: its queued messages (STREAM-8), and
 * what its session can use (SESSION-3).
 */
export const TASK_URI = "https://devtool.dev/a2a/task/v1alpha";

/**
 * Metadata key of Replay, which marks a response that repeats an earlier
 * exchange (STREAM-7).
 */
export const REPLAY_URI = "https://devtool.dev/a2a/replay/v1alpha";

/**
 * Metadata key of what an event has beyond the RFC: usage, notices, and how a
 * tool call runs.
 */
export const TASK_EVENT_URI = "https://devtool.dev/a2a/task-event/v1alpha";

/**
 * Metadata key of what only parts of A2A 1.0 have fields for: the media type
 * and the file name of text and data.
 */
export const PART_URI = "https://devtool.dev/a2a/part/v1alpha";

/**
 * Metadata key of the digest of the question that a confirmation answers, in
 * base64: a string beside the data part (TOOL-11).
 */
export const SHOWN_DIGEST_URI = "https://devtool.dev/a2a/shown-digest/v1alpha";

/**
 * Metadata key of the arguments that a user wrote in place of those of a tool
 * call: an object beside the data part of a confirmation (TOOL-12).
 */
export const MODIFIED_ARGUMENTS_URI =
  "https://devtool.dev/a2a/modified-arguments/v1alpha";

/**
 * Metadata key of a sequence in the log of a task: a string of digits
 * (STREAM-3). On a Task it is that of the last event which the Task includes.
 * Over gRPC, where streams have no ids, it is on each element that of its
 * event.
 */
export const SEQUENCE_URI = "https://devtool.dev/a2a/sequence/v1alpha";

/** A version as in SemVer 2.0.0. Components that a URI omits are 0. */
export interface ExtensionVersion {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

/**
 * Parses the version in the path of an extension URI: the segment
 * `v<major>[.<minor>[.<patch>]]`. Undefined if there is none.
 */
export function parseExtensionVersion(
  uri: string,
): ExtensionVersion | undefined {
  const segment = uri
    .split(/[?#]/, 1)[0]
    ?.split("/")
    .find((part) => VERSION.test(part));
  const match = segment === undefined ? undefined : VERSION.exec(segment);
  if (!match) return undefined;
  return {
    major: Number(match[1]),
    minor: Number(match[2] ?? 0),
    patch: Number(match[3] ?? 0),
  };
}

const VERSION = /^v(0|[1-9]\d*)(?:\.(0|[1-9]\d*)(?:\.(0|[1-9]\d*))?)?$/;

/**
 * Returns whether two versions are compatible: same major from version 1 on,
 * same major and minor before.
 */
export function isCompatibleVersion(
  one: ExtensionVersion,
  other: ExtensionVersion,
): boolean {
  return (
    one.major === other.major && (one.major > 0 || one.minor === other.minor)
  );
}

/** Returns whether a URI identifies this extension in a compatible version. */
export function isExtensionUri(uri: string): boolean {
  if (uri === EXTENSION_URI) return true;
  const version = parseExtensionVersion(uri);
  return (
    version !== undefined &&
    identityOf(uri) === identityOf(EXTENSION_URI) &&
    isCompatibleVersion(version, OWN_VERSION)
  );
}

const OWN_VERSION: ExtensionVersion = { major: 0, minor: 0, patch: 0 };

/**
 * Finds this extension among the extension URIs of an agent card. Undefined if
 * it is not there.
 *
 * Throws a `WireError` that names both versions if the card has it in an
 * incompatible version, or without one.
 */
export function findExtension(uris: readonly string[]): string | undefined {
  const named = uris.filter(
    (uri) => identityOf(uri) === identityOf(EXTENSION_URI),
  );
  const usable = named.find(isExtensionUri);
  const [other] = named;
  if (usable !== undefined || other === undefined) return usable;
  const theirs = parseExtensionVersion(other);
  throw new WireError(
    "capabilities.extensions",
    quote(other),
    `the agent has ${theirs ? `version ${formatVersion(theirs)}` : "no version"} of the extension, this client speaks ${formatVersion(OWN_VERSION)}: use matching releases`,
  );
}

/**
 * Returns why a metadata key that resembles this extension cannot be used: it
 * has another version, none, or is misspelled.
 *
 * Undefined for a compatible version, and for keys of other extensions.
 */
export function extensionVersionProblem(key: string): string | undefined {
  if (isExtensionUri(key)) return undefined;
  const theirs = parseExtensionVersion(key);
  if (identityOf(key) === identityOf(EXTENSION_URI) && theirs) {
    return `is version ${formatVersion(theirs)} of the extension, this agent speaks ${formatVersion(OWN_VERSION)}: use the key ${EXTENSION_URI}`;
  }
  const isMeant = /a2a\W+developer-profile/i.test(key);
  return isMeant
    ? `is not the URI of the extension: use the key ${EXTENSION_URI}`
    : undefined;
}

/** Returns a URI without scheme and version, which identifies the extension. */
function identityOf(uri: string): string {
  const path = uri.replace(/^https?:\/\//, "").split("/");
  return path.filter((part) => !/^v\d/.test(part)).join("/");
}

function formatVersion({ major, minor, patch }: ExtensionVersion): string {
  return `${major}.${minor}.${patch}`;
}

/**
 * The form in which a client gets events: with the payloads of the extension,
 * or as plain A2A (CARD-3).
 */
export type StreamView = "extension" | "plain";
