import type { SlashCommandArgument } from "@devtool/schema";
import type { CommandContext, CommandPlace } from "@devtool/server/agent";
import type { Model } from "../agent/model.ts";
import type { Tool } from "../tool/tool.ts";

/**
 * Something a user starts by name. It is played like a model: each call of `generate` is one step, and its tool calls
 * run under the same policy, ask the same questions and survive the same restarts as those of an agent.
 */
export interface SlashCommand {
  /** The words of the command, without the slash. */
  readonly path: readonly string[];
  /** What it does, in a line. */
  readonly description: string;
  /** What may be typed after the words. */
  readonly arguments: readonly SlashCommandArgument[];
  /** What the commands are for that share its words but the last, in a line; needed where no command has those words alone. */
  readonly group?: string;
  /** Says why it cannot start with what was typed after the words; undefined when it can. Without it, `play` alone decides. */
  check?(args: string, context: CommandContext, signal: AbortSignal): Promise<string | undefined>;
  /** Makes the steps of one execution; `args` is what was typed after the words. Throws for arguments it cannot read. */
  play(args: string, context: CommandContext): Model;
  /** Tools that its steps may call beside those of the session. */
  tools?(context: CommandContext): readonly Tool[];
}

/** Commands that come and go with a workspace: command files, the prompts of MCP servers. */
export interface CommandSource {
  /** The name of the model that answers its commands; empty when none does. */
  readonly model: string;
  /** The commands of a workspace as they are now. What is wrong with one is an outcome of its `play`, not of this. */
  find(place: CommandPlace, signal: AbortSignal): Promise<FoundCommands>;
}

/** What a source found. */
export interface FoundCommands {
  readonly commands: readonly SlashCommand[];
  /** Why commands are missing, for a person. */
  readonly notices: readonly string[];
}
