import { create, type JsonObject } from "@bufbuild/protobuf";
import { AgentSettingsSchema } from "../gen/devtool/a2a/v1alpha/settings_pb.ts";
import {
  type AgentSettings as GeminiCliSettings,
  AgentSettingsSchema as GeminiCliSettingsSchema,
} from "../gen/devtool/coder_agent/v1alpha/stream_pb.ts";
import { ApprovalMode, SessionSettingsSchema } from "../gen/devtool/v1alpha/session_settings_pb.ts";
import type { TaskCreated } from "../gen/devtool/v1alpha/task_event_pb.ts";
import { defined, isObject } from "../json.ts";
import { decodeRfcJson } from "../rfc-json.ts";

/** The key of the dialect in a `metadata` field. */
export const CODER_AGENT_KEY = "coderAgent";

/** The settings of a session, in our own terms. */
type Settings = Pick<TaskCreated, "settings" | "sessionSettings">;

/** Finds the dialect's object in a `metadata` field. */
export function coderAgentMetadata(metadata: JsonObject | undefined): JsonObject | undefined {
  const found = metadata?.[CODER_AGENT_KEY];
  return isObject(found) ? found : undefined;
}

/** Writes settings as the dialect has them. Of the settings beyond the RFC it has a word only for asking or not. */
export function encodeGeminiCliSettings({ settings, sessionSettings }: Settings): GeminiCliSettings {
  const autoExecute = AUTO_EXECUTE[sessionSettings?.approvalMode ?? ApprovalMode.UNSPECIFIED];
  return create(GeminiCliSettingsSchema, {
    kind: "agent-settings",
    workspacePath: settings?.workspacePath ?? "",
    autoExecute,
  });
}

const AUTO_EXECUTE: Readonly<Partial<Record<ApprovalMode, boolean>>> = {
  [ApprovalMode.DEFAULT]: false,
  [ApprovalMode.YOLO]: true,
};

/**
 * Reads settings. `autoExecute` is a wish: it becomes an approval mode of the session, which can only narrow what the
 * operator allows. `isTrusted` is not read: whose configuration counts is the operator's to say.
 */
export function decodeGeminiCliSettings(json: JsonObject): Settings {
  return settingsOf(decodeRfcJson(GeminiCliSettingsSchema, json));
}

/** The settings in our own terms; each is left out when it is not there. */
export function settingsOf({ workspacePath, autoExecute }: GeminiCliSettings): Settings {
  const approvalMode = autoExecute === true ? ApprovalMode.YOLO : ApprovalMode.DEFAULT;
  return defined({
    settings: workspacePath === "" ? undefined : create(AgentSettingsSchema, { workspacePath }),
    sessionSettings: autoExecute === undefined ? undefined : create(SessionSettingsSchema, { approvalMode }),
  });
}
