import type { SlashCommand } from "../slash-command.ts";
import { aboutCommand } from "./about.ts";
import { helpCommand } from "./help.ts";
import { initCommand } from "./init.ts";
import { shellCommand } from "./shell.ts";
import { toolsCommand } from "./tools.ts";

/** The commands that every server has. */
export function builtinCommands(about: { readonly version: string; readonly model: string }): SlashCommand[] {
  const commands = [aboutCommand(about), initCommand, shellCommand, toolsCommand];
  return [helpCommand(commands), ...commands];
}
