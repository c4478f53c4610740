import { create, type JsonObject } from "@bufbuild/protobuf";
import { defined, isObject } from "@devtool/internal/json";
import { AgentSettingsSchema } from "../gen/devtool/a2a/v1alpha/settings_pb.ts";
import {
  type AgentSettings as GeminiCliSettings,
  AgentSettingsSchema as GeminiCliSettingsSchema,
} from "../gen/devtool/coder_agent/v1alpha/stream_pb.ts";
import {
  ApprovalMode,
  SessionSettingsSchema,
} from "../gen/devtool/v1alpha/session_settings_pb.ts";
import type { TaskCreated } from "../gen/devtool/v1alpha/task_event_pb.ts";

/** Metadata key of the dialect. */
export const CODER_AGENT_KEY = "coderAgent";

type Settings = Pick<TaskCreated, "settings" | "sessionSettings">;

/** Finds the dialect's object in a `metadata` field. */
export function coderAgentMetadata(
  metadata: JsonObject | undefined,
): JsonObject | undefined {
  const found = metadata?.[CODER_AGENT_KEY];
  return isObject(found) ? found : undefined;
}

/**
 * Encodes settings. Of the session settings, the dialect has only a flag for
 * running tools without approval.
 */
export function encodeGeminiCliSettings({
  settings,
  sessionSettings,
}: Settings): GeminiCliSettings {
  const autoExecute =
    AUTO_EXECUTE[sessionSettings?.approvalMode ?? ApprovalMode.UNSPECIFIED];
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
 * Converts the dialect's settings to ours. Absent settings stay absent.
 *
 * `autoExecute` becomes an approval mode of the session, which can only narrow
 * what the operator allows. `isTrusted` is ignored: only the operator decides
 * which configuration to trust.
 */
export function settingsFromGeminiCli({
  workspacePath,
  autoExecute,
}: GeminiCliSettings): Settings {
  const approvalMode =
    autoExecute === true ? ApprovalMode.YOLO : ApprovalMode.DEFAULT;
  return defined({
    settings:
      workspacePath === ""
        ? undefined
        : create(AgentSettingsSchema, { workspacePath }),
    sessionSettings:
      autoExecute === undefined
        ? undefined
        : create(SessionSettingsSchema, { approvalMode }),
  });
}
