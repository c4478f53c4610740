import { create, type JsonValue } from "@bufbuild/protobuf";
import { defined, isObject, objectOrEmpty } from "@devtool/internal/json";
import { MESSAGE_SETTINGS_URI } from "../extension.ts";
import { ExecuteSlashCommandRequestSchema } from "../gen/devtool/a2a/v1alpha/command_pb.ts";
import { AgentSettingsSchema } from "../gen/devtool/a2a/v1alpha/settings_pb.ts";
import type { RunSlashCommandRequest } from "../gen/devtool/v1alpha/slash_command_service_pb.ts";
import { decodeStrictJson } from "../strict-json.ts";
import { mistyped, WireError } from "../wire-error.ts";
import { assertNoSettings, decodeRequestSettings } from "./settings.ts";

/** The conversation and the settings that a command runs with. */
type CommandPlace = Partial<
  Pick<RunSlashCommandRequest, "contextId" | "settings" | "sessionSettings">
>;

/**
 * Decodes where `commands/get` and `command/execute` run (CMD-1).
 *
 * The RFC's fields have no place for it: clients send `context_id`, or a
 * workspace as `workspace_path` or in `metadata`, as in a message. Throws a
 * `WireError` that names the field.
 */
export function decodeCommandPlace(
  params: JsonValue | undefined,
): CommandPlace {
  if (!isObject(params)) return {};
  const { workspace_path, workspacePath: camel, ...others } = params;
  assertNoSettings(others, "params");
  const contextId = textIn(params, "context_id", "contextId");
  const workspacePath = textIn(params, "workspace_path", "workspacePath");
  if (workspacePath === "" || workspace_path === null || camel === null) {
    throw new WireError(
      "workspace_path",
      "",
      "is empty: give an absolute path, or leave it out for the default workspace",
    );
  }
  const beside =
    workspacePath === undefined
      ? {}
      : { settings: create(AgentSettingsSchema, { workspacePath }) };
  const { metadata } = params;
  if (metadata !== undefined && !isObject(metadata)) {
    throw mistyped("metadata", metadata, "an object");
  }
  if (metadata?.[MESSAGE_SETTINGS_URI] !== undefined) {
    throw new WireError(
      "metadata",
      MESSAGE_SETTINGS_URI,
      "is for messages: leave it out, or send a message",
    );
  }
  const within = decodeRequestSettings([{ metadata, path: "metadata" }]);
  if (
    beside.settings &&
    within.settings &&
    within.settings.workspacePath !== workspacePath
  ) {
    throw new WireError(
      "workspace_path",
      workspacePath ?? "",
      "differs from the one in metadata: give one",
    );
  }
  return defined({ contextId, ...beside, ...within });
}

/**
 * Decodes what `command/execute` runs, and where (CMD-1).
 *
 * It is read strictly, since it decides what runs. `null` is an absent field.
 * Throws a `WireError` that names the field.
 */
export function decodeCommandRun(
  params: JsonValue | undefined,
): CommandPlace & Pick<RunSlashCommandRequest, "command"> {
  const place = decodeCommandPlace(params);
  const command = Object.entries(objectOrEmpty(params)).filter(
    ([name, value]) => value !== null && !PLACE_FIELDS.has(name),
  );
  return {
    ...place,
    command: decodeStrictJson(
      ExecuteSlashCommandRequestSchema,
      Object.fromEntries(command),
      "",
      { hints: { get: () => FIELDS } },
    ),
  };
}

const PLACE_FIELDS: ReadonlySet<string> = new Set([
  ...["context_id", "contextId", "workspace_path", "workspacePath"],
  "metadata",
]);
const FIELDS =
  "the fields here are command_path, args, context_id, workspace_path and metadata";

/**
 * Reads a string field that may be in snake_case or lowerCamelCase. Throws a
 * `WireError` if both are given and differ.
 */
function textIn(
  params: Readonly<Record<string, JsonValue>>,
  name: string,
  camel: string,
): string | undefined {
  const given = [name, camel].filter(
    (key) => params[key] !== undefined && params[key] !== null,
  );
  const [key] = given;
  if (key === undefined) return undefined;
  const value = params[key];
  if (typeof value !== "string") throw mistyped(key, value, "a string");
  const [, other] = given;
  if (other !== undefined && params[other] !== value) {
    throw new WireError(key, value, `differs from ${other}: give one`);
  }
  return value;
}
