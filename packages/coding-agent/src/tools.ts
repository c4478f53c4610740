/**
 * The entry `@devtool/coding-agent/tools`: the tools of the coding agent, for
 * an agent of your own.
 */
export { BUILTIN_TOOL_NAMES } from "./tool/builtin/builtin-tool-names.ts";
export {
  type BuiltinToolsOptions,
  builtinTools,
} from "./tool/builtin/builtin-tools.ts";
export { settleEdit } from "./tool/builtin/file-edit.ts";
export { globTool } from "./tool/builtin/glob.ts";
export { listDirectoryTool } from "./tool/builtin/list-directory.ts";
export { multiEditTool } from "./tool/builtin/multi-edit.ts";
export { readFileTool } from "./tool/builtin/read-file.ts";
export { readManyFilesTool } from "./tool/builtin/read-many-files.ts";
export { replaceTool } from "./tool/builtin/replace.ts";
export {
  runShellCommandTool,
  type ShellOptions,
} from "./tool/builtin/run-shell-command.ts";
export { saveMemoryTool } from "./tool/builtin/save-memory.ts";
export { searchFileContentTool } from "./tool/builtin/search-file-content.ts";
export { updatePlanTool } from "./tool/builtin/update-plan.ts";
export { webFetchTool } from "./tool/builtin/web-fetch.ts";
export { writeFileTool } from "./tool/builtin/write-file.ts";
export {
  checkToolArguments,
  type RunToolsOptions,
  runTools,
  type WantedCall,
} from "./tool/run-tools.ts";
export type { EditState } from "./tool/tool.ts";
export { Workspace } from "./tool/workspace.ts";
