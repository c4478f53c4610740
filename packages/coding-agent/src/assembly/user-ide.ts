import type { ReadDecision } from "@devtool/policy";
import type { ExecuteSlashCommandRequest, IdeContext } from "@devtool/schema";
import type { AgentCommands, CommandContext } from "@devtool/server/agent";
import { ideCommands, replyTo } from "../command/builtin/ide.ts";
import type { IdeSession } from "../command/services.ts";
import { SlashCommands } from "../command/slash-commands.ts";
import {
  type Ide,
  type IdeConnection,
  type IdeLink,
  pathInside,
} from "../tool/ide.ts";
import { trustProblem, type WorkspaceTrust } from "../trust/trust.ts";
import { IdeSwitch } from "./ide-switch.ts";

/** Dependencies of `UserIde`. */
export interface UserIdeDependencies {
  /** Undefined for an agent that uses no editors. */
  readonly ide: Ide | undefined;
  /** The principal whose editors they are. */
  readonly operator: string;
  readonly trust: WorkspaceTrust;
  /**
   * The directory that knows the sessions which use no editor. Undefined: they
   * end with the server.
   */
  readonly dataDirectory: string | undefined;
}

/**
 * The editors of the server's user, for those who may use them: the operator,
 * in a workspace that they trust.
 */
export class UserIde implements IdeSession {
  readonly #dependencies: UserIdeDependencies;
  readonly #sessions: IdeSwitch;

  constructor(dependencies: UserIdeDependencies) {
    this.#dependencies = dependencies;
    this.#sessions = new IdeSwitch(dependencies.dataDirectory);
  }

  /** The commands `/ide`, for agents that have no commands of ours. */
  get commands(): AgentCommands {
    return new SlashCommands(ideCommands(this));
  }

  /** Whether a principal has editors at all. */
  isFor(principal: string): boolean {
    const { ide, operator } = this.#dependencies;
    return ide !== undefined && principal === operator;
  }

  refusal({
    principal,
  }: Pick<CommandContext, "principal">): string | undefined {
    return this.isFor(principal)
      ? undefined
      : "only the user who started the server has an editor here";
  }

  /** Resolves once it is durable. */
  async turn(context: CommandContext, to: "on" | "off"): Promise<void> {
    await this.#sessions.turn(context.contextId, to);
  }

  /** Plays one of the commands. Returns the reply. */
  async reply(
    { commandPath }: Pick<ExecuteSlashCommandRequest, "commandPath">,
    context: CommandContext,
    signal: AbortSignal,
  ): Promise<string> {
    return await replyTo(this, commandPath.at(1) ?? "", context, signal);
  }

  /**
   * Yields at once, and then whenever `connect` may have another result for a
   * session: each time a signal that aborts when its user turns the editor on
   * or off. Ends when the signal aborts.
   */
  async *changes(
    { contextId }: Pick<CommandContext, "contextId">,
    signal: AbortSignal,
  ): AsyncGenerator<AbortSignal> {
    const { ide } = this.#dependencies;
    while (ide && !signal.aborted) {
      const turned = this.#sessions.whenTurned(contextId);
      const either = AbortSignal.any([signal, turned]);
      for await (const _change of ide.changes(either)) yield turned;
    }
  }

  /** Returns the editor of a session's workspace, or why there is none. */
  async connect(
    context: CommandContext,
    signal: AbortSignal,
  ): Promise<IdeConnection> {
    const { ide, trust } = this.#dependencies;
    const { contextId, workspacePath } = context;
    const none = (reason: string) => ({ case: "none", reason }) as const;
    const refusal = this.refusal(context);
    if (!ide || refusal !== undefined) return none(refusal ?? "");
    if (this.#sessions.isOff(contextId)) {
      return none("it is turned off in this session: /ide enable");
    }
    if (workspacePath === "") return none("the session has no workspace");
    const problem = trustProblem(
      workspacePath,
      await trust.trustOf(workspacePath),
    );
    if (problem !== "") return none(problem);
    const found = await ide.connect(workspacePath, signal);
    if (found.case === "none" || found.link.isTrusted) return found;
    return none(`${found.link.editor} does not trust the workspace`);
  }

  /** Whether an editor is there that shows diffs. */
  async showsDiffs(
    context: CommandContext,
    signal: AbortSignal,
  ): Promise<boolean> {
    const found = await this.connect(context, signal);
    return found.case === "connected" && found.link.showsDiffs;
  }

  /**
   * Returns what the editor of a workspace shows; undefined when there is none.
   * Leaves out files outside of the workspace, and what is in files that the
   * rules do not let the agent read: what is selected there and what the editor
   * reports about them.
   */
  async context(
    place: CommandContext,
    decideReading: ReadDecision,
    signal: AbortSignal,
  ): Promise<IdeContext | undefined> {
    const found = await this.connect(place, signal);
    if (found.case === "none") return undefined;
    const context = found.link.context();
    const files: IdeContext["files"] = [];
    for (const file of context.files) {
      const path = pathInside(place.workspacePath, file.path);
      if (path === undefined) continue;
      const mayRead = decideReading(path) === "allow";
      const selectedText = mayRead ? file.selectedText : "";
      const diagnostics =
        mayRead && file.isActive
          ? await diagnosticsOf(file.path, found.link, signal)
          : [];
      files.push({ ...file, selectedText, diagnostics });
    }
    return { ...context, files };
  }
}

/** Maximum number of diagnostics in a context. */
const MAX_DIAGNOSTICS = 20;

/** How long a turn waits for the diagnostics of its context, in milliseconds. */
const DIAGNOSTICS_TIMEOUT_MS = 2000;

/** Returns the worst diagnostics of a file; none when the editor fails. */
async function diagnosticsOf(
  path: string,
  link: IdeLink,
  signal: AbortSignal,
): Promise<IdeContext["files"][number]["diagnostics"]> {
  if (!link.reportsDiagnostics) return [];
  const limit = AbortSignal.timeout(DIAGNOSTICS_TIMEOUT_MS);
  try {
    const found = await link.diagnostics(
      path,
      AbortSignal.any([signal, limit]),
    );
    const file = found.find((each) => each.path === path);
    return file?.diagnostics.slice(0, MAX_DIAGNOSTICS) ?? [];
  } catch {
    // The turn goes on without them.
    return [];
  }
}
