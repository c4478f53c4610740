import {
  ApprovalMode,
  Role,
  type SessionSettings,
  type Task,
} from "@devtool/schema";
import { invalid } from "../errors.ts";
import {
  changedApprovalMode,
  type SessionOptions,
  type Settings,
} from "./session-settings.ts";

/**
 * Throws a `DevtoolError` for settings that a request without a message asks
 * for and its task does not have. Only a message changes settings, so they
 * would be ignored.
 */
export function assertKept(
  requested: Settings,
  task: Task,
  options: Pick<SessionOptions, "resolveAgent" | "assertFollowed">,
): void {
  const mode = changedApprovalMode(requested, task, task, options);
  if (mode !== undefined) {
    throw notKept("session_settings.approval_mode", ApprovalMode[mode] ?? "");
  }
  const { model = "", agentOptions = {} } = requested.sessionSettings ?? {};
  // Messages change these, so the last one counts.
  const { history, sessionSettings } = task;
  const sent = history.filter(({ role }) => role === Role.USER);
  const currentModel = sent.at(-1)?.model || (sessionSettings?.model ?? "");
  if (model !== "" && model !== currentModel) throw notKept("model", model);
  const current: SessionSettings["agentOptions"] = Object.assign(
    {},
    ...[sessionSettings, ...sent].map((set) => set?.agentOptions),
  );
  const changed = Object.entries(agentOptions).find(
    ([id, value]) => current[id] !== value,
  );
  if (changed) {
    throw notKept("session_settings.agent_options", changed.join("="));
  }
}

function notKept(field: string, value: string): Error {
  return invalid(
    field,
    value,
    "is not that of this session, and only a message changes it",
    "send it with a message",
  );
}
