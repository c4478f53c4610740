import {
  ApprovalMode,
  confirmationsOf,
  Role,
  type SessionSettings,
  type Task,
} from "@devtool/schema";
import { invalid } from "../errors.ts";
import {
  type ChangeOptions,
  type Settings,
  sessionChanges,
} from "./session-settings.ts";

/**
 * Throws a `DevtoolError` for settings that a request without a message, or
 * with an answer to a tool call, asks for and its task does not have. Only a
 * message that begins a turn changes settings, so they would be ignored.
 */
export function assertKept(
  requested: Settings,
  task: Task,
  options: ChangeOptions,
): void {
  const changes = sessionChanges(requested, task, task, options);
  const { approvalMode: mode, added } = changes;
  if (mode !== undefined) {
    throw notKept("session_settings.approval_mode", ApprovalMode[mode] ?? "");
  }
  for (const { name } of added) throw notKept("mcp_servers", name);
  const { model = "", agentOptions = {} } = requested.sessionSettings ?? {};
  // Messages change these, so the last one counts.
  const { history, sessionSettings } = task;
  const sent = history.filter(({ role }) => role === Role.USER);
  if (!["", task.model, modelOf(task)].includes(model)) {
    throw notKept("model", model);
  }
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

/** Returns the model that the last message of a task chose, or its session. */
function modelOf({ history, sessionSettings }: Task): string {
  const last = history.findLast(
    (message) =>
      message.role === Role.USER && confirmationsOf(message).length === 0,
  );
  return last?.model || (sessionSettings?.model ?? "");
}

function notKept(field: string, value: string): Error {
  return invalid(
    field,
    value,
    "is not that of this session, and only a message that starts a turn changes it",
    "send it with a message",
  );
}
