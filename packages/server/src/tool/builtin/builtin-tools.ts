import type { OutboundPolicy } from "../outbound/outbound-policy.ts";
import type { Tool } from "../tool.ts";
import type { Workspace } from "../workspace.ts";
import { readBackgroundOutputTool, stopBackgroundProcessTool } from "./background-tools.ts";
import { globTool } from "./glob.ts";
import { listDirectoryTool } from "./list-directory.ts";
import { multiEditTool } from "./multi-edit.ts";
import { readFileTool } from "./read-file.ts";
import { readManyFilesTool } from "./read-many-files.ts";
import { replaceTool } from "./replace.ts";
import { runShellCommandTool, type ShellOptions } from "./run-shell-command.ts";
import { saveMemoryTool } from "./save-memory.ts";
import { searchFileContentTool } from "./search-file-content.ts";
import { updatePlanTool } from "./update-plan.ts";
import { webFetchTool } from "./web-fetch.ts";
import { writeFileTool } from "./write-file.ts";

/** What the tools of an agent may reach beside its workspace. */
export interface BuiltinToolsOptions {
  readonly shell: ShellOptions;
  readonly outbound: OutboundPolicy;
}

/** The tools that every agent has in its workspace. */
export function builtinTools(workspace: Workspace, { shell, outbound }: BuiltinToolsOptions): Tool[] {
  return [
    readFileTool(workspace),
    readManyFilesTool(workspace),
    writeFileTool(workspace),
    replaceTool(workspace),
    multiEditTool(workspace),
    listDirectoryTool(workspace),
    globTool(workspace),
    searchFileContentTool(workspace),
    runShellCommandTool(workspace, shell),
    ...(shell.background
      ? [readBackgroundOutputTool(shell.background), stopBackgroundProcessTool(shell.background)]
      : []),
    webFetchTool(outbound),
    saveMemoryTool(workspace),
    updatePlanTool(),
  ];
}
