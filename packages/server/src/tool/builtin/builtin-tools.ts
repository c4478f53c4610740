import type { Tool } from "../tool.ts";
import type { Workspace } from "../workspace.ts";
import { globTool } from "./glob.ts";
import { listDirectoryTool } from "./list-directory.ts";
import { readFileTool } from "./read-file.ts";
import { replaceTool } from "./replace.ts";
import { runShellCommandTool, type ShellOptions } from "./run-shell-command.ts";
import { searchFileContentTool } from "./search-file-content.ts";
import { writeFileTool } from "./write-file.ts";

/** The tools that every agent has in its workspace. */
export function builtinTools(workspace: Workspace, shell: ShellOptions): Tool[] {
  return [
    readFileTool(workspace),
    writeFileTool(workspace),
    replaceTool(workspace),
    listDirectoryTool(workspace),
    globTool(workspace),
    searchFileContentTool(workspace),
    runShellCommandTool(workspace, shell),
  ];
}
