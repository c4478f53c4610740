import { create } from "@bufbuild/protobuf";
import {
  type ExecuteSlashCommandRequest,
  type SlashCommand as SlashCommandDeclaration,
  SlashCommandSchema,
} from "@devtool/schema";
import {
  type AgentCommands,
  Code,
  type CommandContext,
  type CommandPlace,
  DevtoolError,
} from "@devtool/server/agent";
import type { StepSource } from "../agent/model.ts";
import { clientError } from "../client-error.ts";
import type { Tool } from "../tool/tool.ts";
import { nearest } from "./nearest.ts";
import type { CommandSource, SlashCommand } from "./slash-command.ts";

/**
 * The available commands by their names, which are their words separated by
 * spaces.
 */
interface KnownCommands {
  readonly commands: ReadonlyMap<string, SlashCommand>;
  /** Messages for the user about missing commands. */
  readonly notices: readonly string[];
}

/**
 * The slash commands of an agent: its own, and those that its sources find in a
 * workspace.
 */
export class SlashCommands implements AgentCommands {
  readonly #own: ReadonlyMap<string, SlashCommand>;
  readonly #sources: readonly CommandSource[];
  readonly #onNotice: (text: string) => void;

  /**
   * Creates the commands of an agent.
   *
   * Among commands with the same words, the agent's own one takes precedence,
   * then the first one in the order of the sources. `onNotice` receives notices
   * for the operator, as plain text. Default: ignores them.
   */
  constructor(
    own: readonly SlashCommand[],
    sources: readonly CommandSource[] = [],
    onNotice: (text: string) => void = () => undefined,
  ) {
    this.#own = new Map(
      own.map((command) => [command.path.join(" "), command]),
    );
    this.#sources = sources;
    this.#onNotice = onNotice;
  }

  /**
   * Lists the commands of a workspace as a tree by their words, the agent's own
   * commands first (CMD-1).
   *
   * Without a workspace, lists only the agent's own commands.
   */
  async list(
    place: CommandPlace,
    signal: AbortSignal,
  ): Promise<readonly SlashCommandDeclaration[]> {
    const { commands } = await this.#findAll(place, signal);
    return declareCommands([...commands.values()], 0);
  }

  /**
   * Returns why a command cannot start, for its user. Undefined when it can
   * (CMD-2).
   */
  async check(
    { commandPath, args }: ExecuteSlashCommandRequest,
    context: CommandContext,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const name = commandPath.join(" ");
    const known = this.#own.has(name)
      ? { commands: this.#own, notices: [] }
      : await this.#findAll(context, signal);
    const command = known.commands.get(name);
    if (!command) return unknownCommand(name, known);
    const missing = command.arguments.find(
      ({ isRequired }) => isRequired && args.trim() === "",
    );
    if (missing) {
      return `/${name} needs <${missing.name}>: ${missing.description}`;
    }
    const { allowedTools = [] } = context.sessionSettings ?? {};
    const { uses = "" } = command;
    if (
      uses !== "" &&
      allowedTools.length > 0 &&
      !allowedTools.includes(uses)
    ) {
      return `/${name} needs the tool ${uses}, which is not among the allowed_tools of this session`;
    }
    try {
      command.play(args, context);
    } catch (reason) {
      const place = { command: name, context: context.contextId };
      return clientError(reason, "a slash command", place, this.#onNotice)
        .message;
    }
    return command.check?.(args, context, signal);
  }

  /**
   * Creates the steps of a command.
   *
   * A command from a source is looked up with the first step, which throws
   * `Code.NotFound` if the workspace no longer has it.
   */
  play(
    { commandPath, args }: ExecuteSlashCommandRequest,
    context: CommandContext,
  ): StepSource {
    const name = commandPath.join(" ");
    const own = this.#own.get(name);
    if (own) return own.play(args, context);
    let steps: Promise<StepSource> | undefined;
    const find = async (signal: AbortSignal): Promise<StepSource> => {
      const known = await this.#findAll(context, signal);
      const command = known.commands.get(name);
      if (!command) {
        throw new DevtoolError(unknownCommand(name, known), Code.NotFound);
      }
      return command.play(args, context);
    };
    return {
      async *generate(request, signal) {
        steps ??= find(signal);
        yield* (await steps).generate(request, signal);
      },
    };
  }

  /** Returns the additional tools for a command's steps, in its task. */
  tools(
    { commandPath }: ExecuteSlashCommandRequest,
    context: CommandContext,
    taskId: string,
  ): readonly Tool[] {
    const command = this.#own.get(commandPath.join(" "));
    return command?.tools?.(context, taskId) ?? [];
  }

  async #findAll(
    place: CommandPlace,
    signal: AbortSignal,
  ): Promise<KnownCommands> {
    const sources = place.workspacePath === "" ? [] : this.#sources;
    const found = await Promise.all(
      sources.map((source) => source.find(place, signal)),
    );
    const commands = new Map(this.#own);
    for (const command of found.flatMap((each) => each.commands)) {
      const name = command.path.join(" ");
      if (!commands.has(name)) commands.set(name, command);
    }
    return { commands, notices: found.flatMap(({ notices }) => notices) };
  }
}

/**
 * Returns the error message for a name that is not a command, with a
 * suggestion.
 */
function unknownCommand(
  name: string,
  { commands, notices }: KnownCommands,
): string {
  const longer = [...commands.keys()].filter((other) =>
    other.startsWith(`${name} `),
  );
  if (longer.length > 0) {
    return `/${name} needs another word: choose ${longer.map((other) => `/${other}`).join(", ")}`;
  }
  const similar = nearest(name, [...commands.keys()]);
  if (similar !== "") {
    return [
      `/${name} does not exist: did you mean /${similar}?`,
      ...notices,
    ].join(" ");
  }
  const remedy =
    commands.size === 0 ? "this agent has no commands" : "see /help";
  return [`/${name} does not exist: ${remedy}`, ...notices].join(". ");
}

/**
 * Builds the tree of declarations for commands that share their first `depth`
 * words.
 */
function declareCommands(
  commands: readonly SlashCommand[],
  depth: number,
): SlashCommandDeclaration[] {
  const byWord = Map.groupBy(commands, ({ path }) => path[depth] ?? "");
  return [...byWord].map(([name, members]) => {
    const own = members.find(({ path }) => path.length === depth + 1);
    const longer = members.filter(({ path }) => path.length > depth + 1);
    const group = longer.find(
      (command) =>
        command.path.length === depth + 2 && command.group !== undefined,
    )?.group;
    const rests = longer.map(({ path }) => path.slice(depth + 1).join(" "));
    const listed = `Groups ${rests.length === 1 ? "the command" : "the commands"} ${rests.join(", ")}`;
    return create(SlashCommandSchema, {
      name,
      description: own?.description ?? group ?? listed,
      arguments: [...(own?.arguments ?? [])],
      subCommands: declareCommands(longer, depth + 1),
    });
  });
}
