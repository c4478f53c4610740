import {
  create,
  equals,
  type JsonObject,
  type JsonValue,
} from "@bufbuild/protobuf";
import { defined, isObject } from "@devtool/internal/json";
import {
  EXTENSION_URI,
  extensionVersionProblem,
  isExtensionUri,
  MESSAGE_SETTINGS_URI,
  SESSION_SETTINGS_URI,
} from "../extension.ts";
import { AgentSettingsSchema } from "../gen/devtool/a2a/v1alpha/settings_pb.ts";
import {
  type SessionSettings,
  SessionSettingsSchema,
} from "../gen/devtool/v1alpha/session_settings_pb.ts";
import type { TaskCreated } from "../gen/devtool/v1alpha/task_event_pb.ts";
import { decodeStrictJson, type Hints } from "../strict-json.ts";
import { mistyped, quote, WireError } from "../wire-error.ts";

type Settings = Pick<TaskCreated, "settings" | "sessionSettings">;

/** A `metadata` field of a request that may hold settings. */
export interface SettingsPlace {
  readonly metadata: JsonValue | undefined;
  /** Path of the field in the request, for errors. */
  readonly path: string;
}

/**
 * Decodes the settings of a request, strictly (SESSION-1, SESSION-3).
 *
 * Settings decide where an agent works and what it may do, so nothing in them
 * is ignored. Errors name the remedy for: a wrong type, a wrong place, another
 * version of the extension, an unknown field, and settings that are given twice
 * with different values. Keys of other extensions are not checked.
 */
export function decodeRequestSettings(
  places: readonly SettingsPlace[],
): Settings {
  const found = places.flatMap(({ metadata, path }) =>
    isObject(metadata)
      ? Object.entries(metadata).flatMap(([key, value]) =>
          settingsUnder(key, value, path),
        )
      : [],
  );
  const workspaces = found.flatMap(({ settings }) => settings ?? []);
  const sessions = found.flatMap(
    ({ sessionSettings }) => sessionSettings ?? [],
  );
  const [settings] = workspaces;
  const other = workspaces.find(
    ({ workspacePath }) => workspacePath !== settings?.workspacePath,
  );
  if (settings && other) {
    throw contradiction("workspace_path", [
      settings.workspacePath,
      other.workspacePath,
    ]);
  }
  return defined({
    settings,
    sessionSettings:
      sessions.length > 0 ? sessions.reduce(mergeSettings) : undefined,
  });
}

function settingsUnder(
  key: string,
  value: JsonValue,
  path: string,
): Settings[] {
  if (isExtensionUri(key)) return [decodeAgentSettings(value)];
  if (key === MESSAGE_SETTINGS_URI) return [];
  if (key === SESSION_SETTINGS_URI) {
    if (!isObject(value)) throw mistyped("SessionSettings", value, "an object");
    assertNoEmptyList(value, "");
    return [
      { sessionSettings: decodeStrictJson(SessionSettingsSchema, value, "") },
    ];
  }
  const version = extensionVersionProblem(key);
  if (version !== undefined) throw new WireError(path, quote(key), version);
  // Another version of the key, or a misspelled one.
  const meant = settingsKeyLike(key);
  if (meant !== undefined) {
    const problem = `is not a key that this agent reads: use ${meant}`;
    throw new WireError(path, quote(key), problem);
  }
  assertNoSettings({ [key]: value }, path);
  return [];
}

/** Returns the key of settings that a key is, or is meant to be. */
function settingsKeyLike(key: string): string | undefined {
  if (!/devtool\.dev\/.*settings/i.test(key)) return undefined;
  return /message/i.test(key) ? MESSAGE_SETTINGS_URI : SESSION_SETTINGS_URI;
}

/**
 * Throws a `WireError` if an object holds settings that belong under a key of
 * `metadata`.
 */
export function assertNoSettings(object: JsonObject, path: string): void {
  const field = Object.keys(object).find(
    (key) =>
      MISPLACED.test(key) ||
      (key.includes("/") &&
        (isExtensionUri(key) || settingsKeyLike(key) !== undefined)),
  );
  if (field === undefined) return;
  if (!MISPLACED.test(field)) {
    throw new WireError(
      path,
      quote(field),
      "is in the wrong place: it is a key of message.metadata",
    );
  }
  const [key, example] = exampleOf(field);
  const remedy = `write it under the key of its message: "metadata": {"${key}": ${example}}`;
  throw new WireError(
    `${path}.${field}`,
    "",
    `is in the wrong place: ${remedy}`,
  );
}

/** Returns the key under which a misplaced field belongs, and an example. */
function exampleOf(field: string): readonly [string, string] {
  if (/^message/i.test(field)) {
    return [MESSAGE_SETTINGS_URI, '{"delivery": "MESSAGE_DELIVERY_QUEUE"}'];
  }
  return /^(agent.?settings|workspace)/i.test(field)
    ? [EXTENSION_URI, '{"workspace_path": "/absolute/path"}']
    : [SESSION_SETTINGS_URI, '{"allowedTools": ["read_file"]}'];
}

/** The names of settings, in any spelling. */
const MISPLACED =
  /^((agent|session|message)[-_ ]?settings|workspace[-_ ]?path|allowed[-_ ]?tools|approval[-_ ]?mode|mcp[-_ ]?servers|agent[-_ ]?options)$/i;

/**
 * Decodes the RFC's AgentSettings, and the session settings that the RFC allows
 * next to them.
 */
function decodeAgentSettings(value: JsonValue): Settings {
  if (!isObject(value)) {
    throw mistyped(
      "AgentSettings",
      value,
      'an object like {"workspace_path": "/absolute/path"}',
    );
  }
  const entries = Object.entries(value);
  const isEvent = "kind" in value;
  const own = entries.filter(
    ([key]) => !BESIDE.has(key) && !(isEvent && OF_EVENT.has(key)),
  );
  const workspace = own.find(
    ([key]) => key === "workspace_path" || key === "workspacePath",
  );
  if (workspace && (workspace[1] === null || workspace[1] === "")) {
    const problem =
      "is empty: give an absolute path, or leave it out for the server's default workspace";
    throw new WireError("workspace_path", "", problem);
  }
  const settings = decodeStrictJson(
    AgentSettingsSchema,
    Object.fromEntries(own),
    "",
    { hints: HINTS },
  );
  const beside = entries.filter(([key]) => BESIDE.has(key));
  assertNoEmptyList(Object.fromEntries(beside), "");
  return defined({
    settings: workspace && settings,
    sessionSettings:
      beside.length > 0
        ? decodeStrictJson(
            SessionSettingsSchema,
            Object.fromEntries(beside),
            "",
          )
        : undefined,
  });
}

/**
 * Throws a `WireError` for an empty list in the JSON of `SessionSettings`: its
 * sender may mean that nothing is allowed, and no list at all allows all.
 */
export function assertNoEmptyList(settings: JsonObject, path: string): void {
  for (const [key, list] of Object.entries(settings)) {
    if (!Array.isArray(list) || list.length > 0) continue;
    const problem = "is an empty list: name what is allowed, or leave it out";
    throw new WireError(path === "" ? key : `${path}.${key}`, "", problem);
  }
}

const BESIDE: ReadonlySet<string> = new Set([
  "allowed_tools",
  "allowedTools",
  "mcp_servers",
  "mcpServers",
]);

/**
 * Fields of the DevelopmentToolEvent that a confirmation has under the same key
 * (META-1).
 */
const OF_EVENT: ReadonlySet<string> = new Set([
  "kind",
  "model",
  "user_tier",
  "userTier",
  "error",
]);

const FLAT =
  'write the fields directly under the key of the extension, as {"workspace_path": "/absolute/path"}';
const ELSEWHERE = `AgentSettings has workspace_path, allowed_tools and mcp_servers; other settings go under ${SESSION_SETTINGS_URI}`;

const HINTS: Hints = {
  get: (key: string) => (/^agent_?settings$/i.test(key) ? FLAT : ELSEWHERE),
};

/**
 * Merges settings from two places. Throws a `WireError` if both set a field to
 * different values.
 */
function mergeSettings(
  one: SessionSettings,
  other: SessionSettings,
): SessionSettings {
  const merged = completed(one, other);
  // A field that both set differently has another value the other way round.
  if (!equals(SessionSettingsSchema, merged, completed(other, one))) {
    throw contradiction("session settings", []);
  }
  return merged;
}

/** Returns settings with those of others in the fields that are not set. */
function completed(
  settings: SessionSettings,
  others: SessionSettings,
): SessionSettings {
  const { allowedTools, mcpServers, agentOptions } = settings;
  return create(SessionSettingsSchema, {
    allowedTools: allowedTools.length > 0 ? allowedTools : others.allowedTools,
    mcpServers: mcpServers.length > 0 ? mcpServers : others.mcpServers,
    approvalMode: settings.approvalMode || others.approvalMode,
    model: settings.model || others.model,
    agent: settings.agent || others.agent,
    agentOptions:
      Object.keys(agentOptions).length > 0 ? agentOptions : others.agentOptions,
  });
}

/** Creates the error for settings that differ in two places. */
export function contradiction(
  field: string,
  values: readonly string[],
): WireError {
  const quoted =
    values.length === 0
      ? ""
      : `, as ${values.map((value) => JSON.stringify(quote(value))).join(" and ")}`;
  return new WireError(field, "", "", {
    sentence: `${field} ${/s$/.test(field) ? "are" : "is"} given twice${quoted}, and differently: give one`,
  });
}
