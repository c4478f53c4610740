import { required } from "../arguments.ts";
import type { CommandServices, Policies } from "../services.ts";
import type { SlashCommand } from "../slash-command.ts";
import { callTool, replyWith } from "../steps.ts";
import { conversationCommands } from "./conversation.ts";
import { ideCommands } from "./ide.ts";
import { initCommand } from "./init.ts";
import { mcpCommands } from "./mcp.ts";
import { memoryCommands } from "./memory.ts";
import { restoreCommands } from "./restore.ts";

/**
 * Returns the built-in commands whose services are available (CMD-3).
 *
 * The first one is `/help`, which lists all of them.
 */
export function builtinCommands(services: CommandServices): SlashCommand[] {
  const {
    version,
    model,
    loadMemory,
    conversations,
    checkpoints,
    mcp,
    ide,
    policies,
  } = services;
  const about: SlashCommand = {
    path: ["about"],
    description: "Shows the version of this server and its model",
    arguments: [],
    play: () =>
      replyWith(
        () => `devtool ${version}\nmodel: ${model}\nnode: ${process.version}`,
      ),
  };
  const commands = [
    about,
    initCommand(services),
    shellCommand,
    toolsCommand,
    ...(loadMemory ? memoryCommands(loadMemory, services) : []),
    ...(conversations ? conversationCommands(conversations) : []),
    ...(checkpoints ? restoreCommands(checkpoints) : []),
    ...(mcp ? mcpCommands(mcp) : []),
    ...(ide ? ideCommands(ide) : []),
    ...(policies ? [policiesCommand(policies)] : []),
  ];
  return [helpCommand(commands), ...commands];
}

/**
 * Creates `/help`, which lists itself and the given commands with their
 * arguments.
 */
export function helpCommand(others: readonly SlashCommand[]): SlashCommand {
  const help: SlashCommand = {
    path: ["help"],
    description: "Lists the slash commands",
    arguments: [],
    play: () =>
      replyWith(() => {
        const lines = [help, ...others].map((command) => {
          const args = command.arguments.map(({ name, isRequired }) =>
            isRequired ? ` <${name}>` : ` [${name}]`,
          );
          return `/${command.path.join(" ")}${args.join("")} - ${command.description}`;
        });
        return lines.join("\n");
      }),
  };
  return help;
}

/** `/shell` runs a command line in the workspace, after the user's approval. */
const shellCommand: SlashCommand = {
  path: ["shell"],
  description: "Runs a shell command in the workspace",
  arguments: [required("command", "the command line to run")],
  uses: "run_shell_command",
  play: (args) =>
    callTool({ name: "run_shell_command", args: { command: args } }),
};

/**
 * `/tools` lists the tools of the session, each with the first sentence of its
 * description.
 */
const toolsCommand: SlashCommand = {
  path: ["tools"],
  description: "Lists the tools that the agent has",
  arguments: [],
  play: () =>
    replyWith(({ tools }) =>
      tools
        .map(
          ({ name, description }) =>
            `${name} - ${description.split(/(?<=\.)\s/, 1)[0]}`,
        )
        .join("\n"),
    ),
};

/**
 * Creates `/policies list`, which lists the rules that decide on tool calls.
 */
function policiesCommand(policies: Policies): SlashCommand {
  return {
    path: ["policies", "list"],
    group:
      "Shows the rules that decide which tool calls run, ask or are denied",
    description:
      "Lists the rules for tool calls; the first one that matches a call applies",
    arguments: [],
    play: (_args, context) =>
      replyWith(async () => {
        const rules = await policies.list(context);
        if (rules.length === 0) {
          return "There are no rules: every change needs approval.";
        }
        return rules
          .map(
            ({ decision, name, description }) =>
              `${decision.padEnd(5)} ${description} (${name})`,
          )
          .join("\n");
      }),
  };
}
