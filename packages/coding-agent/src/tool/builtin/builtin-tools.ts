import type { ReadDecision } from "@devtool/policy";
import type { OutboundPolicy } from "@devtool/server/agent";
import type { Tool } from "../tool.ts";
import type { Workspace } from "../workspace.ts";
import { readBackgroundOutputTool, stopBackgroundProcessTool } from "./background-tools.ts";
import { globTool } from "./glob.ts";
import { keptBackEdit } from "./kept-back-edit.ts";
import { listDirectoryTool } from "./list-directory.ts";
import { multiEditTool } from "./multi-edit.ts";
import { readFileTool } from "./read-file.ts";
import { readManyFilesTool } from "./read-many-files.ts";
import { replaceTool } from "./replace.ts";
import { runShellCommandTool, type ShellOptions } from "./run-shell-command.ts";
import { saveMemoryTool } from "./save-memory.ts";
import { searchFileContentTool } from "./search-file-content.ts";
import type { SearchOptions } from "./searches.ts";
import { updatePlanTool } from "./update-plan.ts";
import { webFetchTool } from "./web-fetch.ts";
import { writeFileTool } from "./write-file.ts";

/** What the tools of an agent may reach beside its workspace. */
export interface BuiltinToolsOptions {
  readonly shell: ShellOptions;
  readonly outbound: OutboundPolicy;
  readonly search?: SearchOptions;
  /** What the rules decide about reading files that are edited. Default: every file may be read. */
  readonly decideReading?: ReadDecision;
}

/** The names of the built-in tools. */
export const BUILTIN_TOOL_NAMES: readonly string[] = [
  ...["read_file", "read_many_files", "write_file", "replace", "multi_edit", "list_directory", "glob"],
  ...["search_file_content", "run_shell_command", "read_background_output", "stop_background_process"],
  ...["web_fetch", "save_memory", "update_plan"],
];

/** The tools that every agent has in its workspace. */
export function builtinTools(workspace: Workspace, options: BuiltinToolsOptions): Tool[] {
  const { shell, outbound, search, decideReading = () => "allow" } = options;
  const edit = (tool: Tool): Tool => keptBackEdit(tool, workspace, decideReading);
  return [
    readFileTool(workspace),
    readManyFilesTool(workspace, search),
    edit(writeFileTool(workspace)),
    edit(replaceTool(workspace)),
    edit(multiEditTool(workspace)),
    listDirectoryTool(workspace, search),
    globTool(workspace, search),
    searchFileContentTool(workspace, search),
    runShellCommandTool(workspace, shell),
    ...(shell.background
      ? [readBackgroundOutputTool(shell.background), stopBackgroundProcessTool(shell.background)]
      : []),
    webFetchTool(outbound),
    saveMemoryTool(workspace),
    updatePlanTool(),
  ];
}
