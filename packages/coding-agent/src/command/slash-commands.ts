import { create } from "@bufbuild/protobuf";
import {
  type ExecuteSlashCommandRequest,
  type SlashCommand as SlashCommandDeclaration,
  SlashCommandSchema,
} from "@devtool/schema";
import { type AgentCommands, Code, type CommandContext, type CommandPlace, DevtoolError } from "@devtool/server/agent";
import type { Model } from "../agent/model.ts";
import { clientError } from "../tool/hidden-fault.ts";
import type { Tool } from "../tool/tool.ts";
import { nearest } from "./nearest.ts";
import type { CommandSource, SlashCommand } from "./slash-command.ts";

/** The slash commands of a server: its own, and those that its sources have for a workspace. */
export class SlashCommands implements AgentCommands {
  readonly #own: ReadonlyMap<string, SlashCommand>;
  readonly #sources: readonly CommandSource[];
  readonly #onNotice: (text: string) => void;

  /** `onNotice` takes what the operator should know, in words. Default: nobody is told. */
  constructor(
    own: readonly SlashCommand[],
    sources: readonly CommandSource[] = [],
    onNotice: (text: string) => void = () => undefined,
  ) {
    this.#onNotice = onNotice;
    this.#own = new Map(own.map((command) => [nameOf(command.path), command]));
    this.#sources = sources;
  }

  /** The commands of a workspace as clients see them: a tree by their words, the server's own first (CMD-1). Without a workspace only those. */
  async list(place: CommandPlace, signal: AbortSignal): Promise<readonly SlashCommandDeclaration[]> {
    const { commands } = await this.#all(place, signal);
    return declare([...commands.values()], 0);
  }

  /** Says why a command cannot start, for its user; undefined when it can (CMD-2). */
  async check(
    request: ExecuteSlashCommandRequest,
    context: CommandContext,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const name = nameOf(request.commandPath);
    const known = this.#own.has(name) ? { commands: this.#own, notices: [] } : await this.#all(context, signal);
    return this.#refusalOf(request, known, context) ?? known.commands.get(name)?.check?.(request.args, context, signal);
  }

  /**
   * The steps of a command. One that is not the server's own is looked up when its first step is asked for; that throws
   * `Code.NotFound` when the workspace has it no longer.
   */
  play(request: ExecuteSlashCommandRequest, context: CommandContext): Model {
    const own = this.#own.get(nameOf(request.commandPath));
    if (own) return own.play(request.args, context);
    let found: Promise<Model> | undefined;
    const find = (signal: AbortSignal): Promise<Model> => (found ??= this.#find(request, context, signal));
    return {
      name: this.#sources.find(({ model }) => model !== "")?.model ?? "",
      async *generate(step, signal) {
        yield* (await find(signal)).generate(step, signal);
      },
    };
  }

  /** The tools that a command brings for its own steps. */
  tools({ commandPath }: ExecuteSlashCommandRequest, context: CommandContext): readonly Tool[] {
    return this.#own.get(nameOf(commandPath))?.tools?.(context) ?? [];
  }

  async #find(request: ExecuteSlashCommandRequest, context: CommandContext, signal: AbortSignal): Promise<Model> {
    const known = await this.#all(context, signal);
    const command = known.commands.get(nameOf(request.commandPath));
    if (!command) throw new DevtoolError(unknown(nameOf(request.commandPath), known), Code.NotFound);
    return command.play(request.args, context);
  }

  #refusalOf(
    { commandPath, args }: ExecuteSlashCommandRequest,
    known: Known,
    context: CommandContext,
  ): string | undefined {
    const name = nameOf(commandPath);
    const command = known.commands.get(name);
    if (!command) return unknown(name, known);
    const missing = command.arguments.find(({ isRequired }) => isRequired && args.trim() === "");
    if (missing) return `/${name} needs <${missing.name}>: ${missing.description}`;
    try {
      command.play(args, context);
      return undefined;
    } catch (reason) {
      const place = { command: name, context: context.contextId };
      return clientError(reason, { what: "a slash command", place, onNotice: this.#onNotice }).message;
    }
  }

  /** Of commands with the same words the first counts: the server's own, then by the order of the sources. */
  async #all(place: CommandPlace, signal: AbortSignal): Promise<Known> {
    const sources = place.workspacePath === "" ? [] : this.#sources;
    const found = await Promise.all(sources.map((source) => source.find(place, signal)));
    const commands = new Map(this.#own);
    for (const command of found.flatMap((each) => each.commands)) {
      const name = nameOf(command.path);
      if (!commands.has(name)) commands.set(name, command);
    }
    return { commands, notices: found.flatMap(({ notices }) => notices) };
  }
}

/** Commands by their words. */
interface Known {
  readonly commands: ReadonlyMap<string, SlashCommand>;
  readonly notices: readonly string[];
}

function nameOf(path: readonly string[]): string {
  return path.join(" ");
}

function unknown(name: string, { commands, notices }: Known): string {
  const below = [...commands.keys()].filter((other) => other.startsWith(`${name} `));
  if (below.length > 0) return `/${name} needs another word: choose ${below.map((other) => `/${other}`).join(", ")}`;
  const near = nearest(name, [...commands.keys()]);
  const others = commands.size === 0 ? "this agent has no commands" : "see /help";
  const hint = near === "" ? others : `did you mean /${near}?`;
  return [`/${name} does not exist: ${hint}`, ...notices].join(near === "" ? ". " : " ");
}

/** What commands with the same words are for. */
function groupOf(commands: readonly SlashCommand[], depth: number): string {
  const told = commands.find(({ path, group }) => path.length === depth + 2 && group !== undefined)?.group;
  if (told !== undefined) return told;
  const words = commands.map(({ path }) => path.slice(depth + 1).join(" "));
  return `Groups ${commands.length === 1 ? "the command" : "the commands"} ${words.join(", ")}`;
}

/** Arranges commands with the same word at a depth below one declaration. */
function declare(commands: readonly SlashCommand[], depth: number): SlashCommandDeclaration[] {
  const byWord = Map.groupBy(commands, ({ path }) => path[depth] ?? "");
  return [...byWord].map(([name, group]) => {
    const own = group.find(({ path }) => path.length === depth + 1);
    const below = group.filter(({ path }) => path.length > depth + 1);
    return create(SlashCommandSchema, {
      name,
      description: own?.description ?? groupOf(below, depth),
      arguments: [...(own?.arguments ?? [])],
      subCommands: declare(below, depth + 1),
    });
  });
}
