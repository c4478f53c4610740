// What @devtool/coding-agent/commands exports: slash commands, one by one, for an agent of one's own (`OpenAgent.commands`).
export { builtinCommands } from "./command/builtin/builtin-commands.ts";
export { helpCommand } from "./command/builtin/help.ts";
export type { CommandServices } from "./command/services.ts";
export type { CommandSource, FoundCommands, SlashCommand } from "./command/slash-command.ts";
export { SlashCommands } from "./command/slash-commands.ts";
export { saying } from "./command/steps.ts";
