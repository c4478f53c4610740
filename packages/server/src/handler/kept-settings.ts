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
  options: Pick<
    SessionOptions,
    "resolveAgent" | "assertChange" | "assertOptions"
  >,
): void {
  const mode = changedApprovalMode(requested, task, task, options);
  if (mode !== undefined) {
    throw notKept("session_settings.approval_mode", ApprovalMode[mode] ?? "");
  }
  const { model = "", agentOptions = {} } = requested.sessionSettings ?? {};
  const kept = currentSettings(task);
  if (model !== "" && model !== kept.model) {
    throw notKept("model", model);
  }
  const changed = Object.entries(agentOptions).find(
    ([id, value]) => kept.agentOptions[id] !== value,
  );
  if (changed) {
    throw notKept("session_settings.agent_options", changed.join("="));
  }
}

/** Returns the settings of a task that messages change, as of the last one. */
function currentSettings({
  history,
  sessionSettings,
}: Task): Pick<SessionSettings, "model" | "agentOptions"> {
  const own = history.filter(({ role }) => role === Role.USER);
  const options = [sessionSettings, ...own].map((set) => set?.agentOptions);
  return {
    model: own.at(-1)?.model || (sessionSettings?.model ?? ""),
    agentOptions: Object.assign({}, ...options),
  };
}

function notKept(field: string, value: string): Error {
  return invalid(
    field,
    value,
    "is not that of this session, and only a message changes it",
    "send it with a message",
  );
}
