import type { SlashCommandArgument } from "@devtool/schema";
import type { CommandContext, CommandPlace } from "@devtool/server/agent";
import type { StepSource } from "../agent/model.ts";
import type { Tool } from "../tool/tool.ts";

/**
 * A command that a user starts by its name.
 *
 * A command produces steps, as a model does. So its tool calls go through the
 * same policy and approvals, and it resumes after a restart in the same way.
 */
export interface SlashCommand {
  /**
   * The words of the command, without the slash: `["memory", "add"]` is
   * `/memory add`.
   */
  readonly path: readonly string[];
  /** One line that says what the command does. */
  readonly description: string;
  /** The arguments that may follow the words. */
  readonly arguments: readonly SlashCommandArgument[];
  /**
   * One line that describes the group of commands that share all words of
   * `path` but the last.
   *
   * One command of a group needs it, unless the group's words are a command
   * themselves.
   */
  readonly group?: string;
  /**
   * The tool that the command calls. It cannot start in a session that does not
   * allow the tool. Default: none.
   */
  readonly uses?: string;
  /**
   * Returns why the command cannot start, or undefined if it can.
   *
   * `args` is the text after the words. Default: the command can start unless
   * `play` throws.
   */
  check?(
    args: string,
    context: CommandContext,
    signal: AbortSignal,
  ): Promise<string | undefined>;
  /**
   * Creates the steps of one execution.
   *
   * `args` is the text after the words. Throws a `DevtoolError` for invalid
   * arguments.
   */
  play(args: string, context: CommandContext): StepSource;
  /**
   * Returns additional tools for the command's steps, in the task in which it
   * runs. Only the agent's own commands can have some, and not those of a
   * `CommandSource`. Default: none.
   */
  tools?(context: CommandContext, taskId: string): readonly Tool[];
}

/**
 * Finds commands that depend on the workspace, such as command files and the
 * prompts of MCP servers.
 */
export interface CommandSource {
  /**
   * Returns the current commands of a workspace.
   *
   * An invalid command is part of the result; its `play` throws the reason.
   */
  find(place: CommandPlace, signal: AbortSignal): Promise<FoundCommands>;
}

/** The commands of a `CommandSource`. */
export interface FoundCommands {
  readonly commands: readonly SlashCommand[];
  /** Messages for the user about missing commands, with the reason. */
  readonly notices: readonly string[];
}
