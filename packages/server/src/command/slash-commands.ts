import { create } from "@bufbuild/protobuf";
import {
  type ExecuteSlashCommandRequest,
  type SlashCommand as SlashCommandDeclaration,
  SlashCommandSchema,
} from "@devtool/schema";
import type { Model } from "../agent/model.ts";
import { Code, DevtoolError } from "../errors.ts";
import { nearest } from "./nearest.ts";
import type { SlashCommand } from "./slash-command.ts";

/** The slash commands of a server. */
export class SlashCommands {
  readonly #commands: ReadonlyMap<string, SlashCommand>;
  /** The commands as clients see them: a tree by their words, in the order they were given. */
  readonly declarations: readonly SlashCommandDeclaration[];

  constructor(commands: readonly SlashCommand[]) {
    this.#commands = new Map(commands.map((command) => [command.path.join(" "), command]));
    this.declarations = declare(commands, 0);
  }

  /** Says why a command cannot start, for its user; undefined when it can (CMD-2). */
  refusal({ commandPath, args }: ExecuteSlashCommandRequest): string | undefined {
    const name = commandPath.join(" ");
    const command = this.#commands.get(name);
    if (!command) return this.#unknown(name);
    const missing = command.arguments.find(({ isRequired }) => isRequired && args.trim() === "");
    if (missing) return `/${name} needs <${missing.name}>: ${missing.description}`;
    return unreadable(command, args);
  }

  /** The steps of a command. Throws `Code.NotFound` for one that the server no longer has. */
  play({ commandPath, args }: ExecuteSlashCommandRequest): Model {
    const command = this.#commands.get(commandPath.join(" "));
    if (!command) throw new DevtoolError(this.#unknown(commandPath.join(" ")), Code.NotFound);
    return command.play(args);
  }

  #unknown(name: string): string {
    const near = nearest(name, [...this.#commands.keys()]);
    return `/${name} does not exist: did you mean /${near}?`;
  }
}

function unreadable(command: SlashCommand, args: string): string | undefined {
  try {
    command.play(args);
    return undefined;
  } catch (reason) {
    return DevtoolError.from(reason).message;
  }
}

/** Arranges commands with the same word at a depth below one declaration. */
function declare(commands: readonly SlashCommand[], depth: number): SlashCommandDeclaration[] {
  const byWord = Map.groupBy(commands, ({ path }) => path[depth] ?? "");
  return [...byWord].map(([name, group]) => {
    const own = group.find(({ path }) => path.length === depth + 1);
    const below = group.filter(({ path }) => path.length > depth + 1);
    return create(SlashCommandSchema, {
      name,
      description: own?.description ?? below.map(({ path }) => path.slice(depth + 1).join(" ")).join(", "),
      arguments: [...(own?.arguments ?? [])],
      subCommands: declare(below, depth + 1),
    });
  });
}
