/**
 * The entry `@devtool/coding-agent/testing`: internals for tests in this
 * repository. It is not published.
 */
export { loadMemory } from "../agent/memory.ts";
export { createScriptedModel } from "../agent/scripted/scripted-model.ts";
export { builtinCommands } from "../command/builtin/builtin-commands.ts";
export { readCommandFile } from "../command/files/command-file.ts";
export { createCommandFiles } from "../command/files/command-files.ts";
export type { SlashCommand } from "../command/slash-command.ts";
export { SlashCommands } from "../command/slash-commands.ts";
export { BackgroundProcesses } from "../tool/builtin/background-processes.ts";
export { builtinTools } from "../tool/builtin/builtin-tools.ts";
export { ideTools } from "../tool/builtin/ide-tools.ts";
export { webFetchTool } from "../tool/builtin/web-fetch.ts";
export { callDigest } from "../tool/call-digest.ts";
export { everyFile } from "../tool/file-access.ts";
export { prepareCall } from "../tool/prepared-call.ts";
export type { ToolResult } from "../tool/tool.ts";
export { readConfigFiles } from "../trust/config-files.ts";
export type { WorkspaceTrust } from "../trust/trust.ts";
