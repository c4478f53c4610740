import type { JsonObject } from "@bufbuild/protobuf";
import { isObject } from "@devtool/internal/json";
import {
  isExtensionUri,
  SESSION_SETTINGS_URI,
  TASK_EVENT_URI,
} from "../extension.ts";

/**
 * Finds the extension's object in a `metadata` field (META-1), under its URI
 * with or without the scheme.
 */
export function extensionMetadata(
  metadata: JsonObject | undefined,
): JsonObject | undefined {
  return find(metadata, isExtensionUri);
}

/** Finds our SessionSettings in a `metadata` field (SESSION-3). */
export function sessionMetadata(
  metadata: JsonObject | undefined,
): JsonObject | undefined {
  return find(metadata, (key) => key === SESSION_SETTINGS_URI);
}

/**
 * Finds our TaskEvent in a `metadata` field: what an event has beyond the RFC.
 */
export function taskEventMetadata(
  metadata: JsonObject | undefined,
): JsonObject | undefined {
  return find(metadata, (key) => key === TASK_EVENT_URI);
}

/**
 * Returns the entries of a `metadata` field that belong neither to the
 * extension nor to us. Undefined if there are none.
 */
export function foreignMetadata(
  metadata: JsonObject | undefined,
): JsonObject | undefined {
  const entries = Object.entries(metadata ?? {}).filter(
    ([key]) => !isExtensionUri(key) && !OWN_URIS.has(key),
  );
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

const OWN_URIS: ReadonlySet<string> = new Set([
  SESSION_SETTINGS_URI,
  TASK_EVENT_URI,
]);

function find(
  metadata: JsonObject | undefined,
  isKey: (key: string) => boolean,
): JsonObject | undefined {
  const entry = Object.entries(metadata ?? {}).find(
    ([key, value]) => isKey(key) && isObject(value),
  );
  return isObject(entry?.[1]) ? entry[1] : undefined;
}
