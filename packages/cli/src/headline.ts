import { resolve } from "node:path";
import { ApprovalMode } from "@devtool/schema";
import type { Address } from "./address.ts";

/** Returns the first line of a chat: the agent, its workspace, its model and its approval mode, as far as they are known. */
export function headline({ url, info }: Address, workspace: string | undefined): string {
  const where = workspace === undefined ? info?.workspace : resolve(workspace);
  return [
    info ? `agent ${info.agent}` : `agent at ${url}`,
    ...(where ? [`workspace ${where}`] : []),
    ...(info?.model ? [`model ${info.model}`] : []),
    ...(info ? [`mode ${MODES[info.approvalMode]}`] : []),
  ].join(" · ");
}

const MODES: Readonly<Record<ApprovalMode, string>> = {
  [ApprovalMode.UNSPECIFIED]: "default (asks before every change)",
  [ApprovalMode.DEFAULT]: "default (asks before every change)",
  [ApprovalMode.PLAN]: "plan (changes nothing)",
  [ApprovalMode.AUTO_EDIT]: "auto-edit (edits files without asking)",
  [ApprovalMode.YOLO]: "yolo (asks nothing)",
};
