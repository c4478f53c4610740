import { ApprovalMode, type ListedAgent } from "@devtool/schema";
import { approvalModeOf } from "./approval-mode.ts";
import { refusalOf } from "./chosen-setting.ts";
import type { Address } from "./connection/address.ts";
import type { ContinuedTaskOptions } from "./continued-task.ts";
import { serverPath } from "./server-path.ts";
import type { NewSessionOptions } from "./session.ts";

/**
 * Returns the first line of a chat: the agent, and the workspace, model and
 * approval mode of the session or else of the server, as far as they are known.
 * A conversation that is continued has limits of its own, so its mode is left
 * out, and so is the operator's for an agent that does not follow it.
 *
 * @param agents those of the server, as far as they are known
 */
export function headline(
  { url, info }: Address,
  options: NewSessionOptions & ContinuedTaskOptions,
  agents: readonly ListedAgent[],
): string {
  const { workspace, model, approvalMode, agent } = options;
  const isNew = options.task === undefined && !options.continue;
  const where =
    workspace === undefined ? info?.workspace : serverPath(workspace);
  const answering = model ?? (agent === undefined ? info?.model : undefined);
  const hasModes = refusalOf("approval_mode", agent ?? "", agents) === "";
  const mode = isNew
    ? approvalModeOf(approvalMode) ||
      (hasModes ? info?.approvalMode : undefined)
    : undefined;
  return [
    info
      ? `agent ${agent ?? info.agent}`
      : `agent ${agent === undefined ? "" : `${agent} `}at ${url}`,
    ...(where ? [`workspace ${where}`] : []),
    ...(answering ? [`model ${answering}`] : []),
    ...(mode === undefined ? [] : [`mode ${MODES[mode]}`]),
  ].join(" · ");
}

const MODES: Readonly<Record<ApprovalMode, string>> = {
  [ApprovalMode.UNSPECIFIED]: "default (asks before every change)",
  [ApprovalMode.DEFAULT]: "default (asks before every change)",
  [ApprovalMode.PLAN]: "plan (changes nothing)",
  [ApprovalMode.AUTO_EDIT]: "auto-edit (edits files without asking)",
  [ApprovalMode.YOLO]: "yolo (asks nothing)",
};
