/**
 * The entry `@devtool/coding-agent/tools`: the tools of the coding agent, for
 * an agent of your own.
 */
export { builtinTools } from "./tool/builtin/builtin-tools.ts";
export { settleEdit } from "./tool/builtin/file-edit.ts";
export { readFileTool } from "./tool/builtin/read-file.ts";
export { writeFileTool } from "./tool/builtin/write-file.ts";
export { checkToolArguments, runTools } from "./tool/run-tools.ts";
export { Workspace } from "./tool/workspace.ts";
