import type { ReadDecision } from "@devtool/policy";
import type { OutboundPolicy } from "@devtool/server/agent";
import type { Tool } from "../tool.ts";
import type { Workspace } from "../workspace.ts";
import {
  readBackgroundOutputTool,
  stopBackgroundProcessTool,
} from "./background-tools.ts";
import { globTool } from "./glob.ts";
import { listDirectoryTool } from "./list-directory.ts";
import { multiEditTool } from "./multi-edit.ts";
import { readFileTool } from "./read-file.ts";
import { readManyFilesTool } from "./read-many-files.ts";
import { withReadRules } from "./read-rules.ts";
import { replaceTool } from "./replace.ts";
import { runShellCommandTool, type ShellOptions } from "./run-shell-command.ts";
import { saveMemoryTool } from "./save-memory.ts";
import { searchFileContentTool } from "./search-file-content.ts";
import type { SearchOptions } from "./searches.ts";
import { updatePlanTool } from "./update-plan.ts";
import { webFetchTool } from "./web-fetch.ts";
import { writeFileTool } from "./write-file.ts";

/** Options of the built-in tools. */
export interface BuiltinToolsOptions {
  /** Options of `run_shell_command`. */
  readonly shell: ShellOptions;
  /** The addresses that `web_fetch` may reach. */
  readonly outbound: OutboundPolicy;
  /** Options of the tools that search or list files. */
  readonly search?: SearchOptions;
  /**
   * Decides whether a file that a tool edits may be read. Default: every file
   * may be read.
   */
  readonly decideReading?: ReadDecision;
}

/**
 * Creates the built-in tools for a workspace, which all of them share: dispose
 * of it when no call runs any more.
 *
 * Without `shell.background`, the two tools for background processes are
 * missing.
 */
export function builtinTools(
  workspace: Workspace,
  options: BuiltinToolsOptions,
): Tool[] {
  const { shell, outbound, search, decideReading = () => "allow" } = options;
  return [
    readFileTool(workspace),
    readManyFilesTool(workspace, search),
    withReadRules(writeFileTool(workspace), workspace, decideReading),
    withReadRules(replaceTool(workspace), workspace, decideReading),
    withReadRules(multiEditTool(workspace), workspace, decideReading),
    listDirectoryTool(workspace, search),
    globTool(workspace, search),
    searchFileContentTool(workspace, search),
    runShellCommandTool(workspace, shell),
    ...(shell.background
      ? [
          readBackgroundOutputTool(shell.background),
          stopBackgroundProcessTool(shell.background),
        ]
      : []),
    webFetchTool(outbound),
    saveMemoryTool(workspace),
    updatePlanTool(),
  ];
}
