import type { CommandServices } from "../services.ts";
import type { SlashCommand } from "../slash-command.ts";
import { aboutCommand } from "./about.ts";
import { compressCommand } from "./compress.ts";
import { helpCommand } from "./help.ts";
import { initCommand } from "./init.ts";
import { mcpCommands } from "./mcp.ts";
import { memoryCommands } from "./memory.ts";
import { planCommand } from "./plan.ts";
import { policiesCommand } from "./policies.ts";
import { restoreCommands } from "./restore.ts";
import { shellCommand } from "./shell.ts";
import { statsCommand } from "./stats.ts";
import { toolsCommand } from "./tools.ts";

/** The commands that a server has by its services, `/help` first, which lists them (CMD-3). */
export function builtinCommands(services: CommandServices): SlashCommand[] {
  const { loadMemory, conversations, checkpoints, mcp, policies } = services;
  const commands = [
    aboutCommand(services),
    initCommand(services),
    shellCommand,
    toolsCommand,
    ...(loadMemory ? memoryCommands(loadMemory, services) : []),
    ...(conversations ? [compressCommand(conversations), planCommand(conversations), statsCommand(conversations)] : []),
    ...(checkpoints ? restoreCommands(checkpoints) : []),
    ...(mcp ? mcpCommands(mcp) : []),
    ...(policies ? [policiesCommand(policies)] : []),
  ];
  return [helpCommand(commands), ...commands];
}
