import { create, type JsonValue } from "@bufbuild/protobuf";
import { MESSAGE_SETTINGS_URI } from "../extension.ts";
import { AgentSettingsSchema } from "../gen/devtool/a2a/v1alpha/settings_pb.ts";
import type { RunSlashCommandRequest } from "../gen/devtool/v1alpha/slash_command_service_pb.ts";
import { defined, isObject } from "../json.ts";
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
