/**
 * The entry `@devtool/coding-agent/commands`: the slash commands, for an agent
 * of your own (`OpenAgent.commands`).
 */
export {
  builtinCommands,
  helpCommand,
} from "./command/builtin/builtin-commands.ts";
export type { SlashCommand } from "./command/slash-command.ts";
export { SlashCommands } from "./command/slash-commands.ts";
export { replyWith } from "./command/steps.ts";
