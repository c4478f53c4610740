import type { SlashCommandArgument } from "@devtool/schema";
import type { Model } from "../agent/model.ts";

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
  /** Makes the steps of one execution; `args` is what was typed after the words. Throws for arguments it cannot read. */
  play(args: string): Model;
}
