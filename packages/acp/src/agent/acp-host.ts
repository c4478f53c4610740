import type { JsonObject } from "@bufbuild/protobuf";
import { abortable } from "@devtool/internal/abortable";
import { Semaphore } from "@devtool/internal/semaphore";
import {
  ApprovalMode,
  type SessionSettings,
  type SlashCommand,
  type Task,
} from "@devtool/schema";
import {
  type AgentCommands,
  type AgentServices,
  type ApprovalBasis,
  Code,
  type CommandContext,
  type CommandPlace,
  DevtoolError,
  invalid,
  type OfferedModel,
  type OpenAgent,
  quoted,
  type Turn,
} from "@devtool/server/agent";
import type { AcpAgentOptions, AcpLimits } from "./acp-agent-options.ts";
import { AcpExecutor, missingMode, type SessionPool } from "./acp-executor.ts";
import { AcpSession, type AcpSessionOptions } from "./acp-session.ts";
import { missingModels } from "./agent-config.ts";
import { optionProblem } from "./client-options.ts";
import { needsLogin } from "./enter-session.ts";
import type { AgentOption } from "./session-state.ts";
import { commandTree, findCommand } from "./slash-commands.ts";

/**
 * The time in which an agent lists its slash commands after it has opened a
 * session, in milliseconds.
 */
const COMMANDS_MS = 1000;
/** The maximum number of workspaces of which commands and abilities are kept. */
const MAX_WORKSPACES = 256;
/** The maximum number of models that an error names. */
const MAX_NAMED = 20;

/** What the sessions of an agent can do in a workspace. */
interface Abilities {
  /** Whether there is a mode to plan in. */
  readonly plans: boolean;
  /** Undefined where there is no choice. */
  readonly models: readonly OfferedModel[] | undefined;
  readonly options: readonly AgentOption[];
}

/**
 * The sessions of one agent: one process for each conversation that works, and
 * for a few idle ones.
 */
export class AcpHost implements OpenAgent, SessionPool {
  readonly commands: AgentCommands;
  readonly approvals: ApprovalBasis | undefined;
  readonly options: AcpAgentOptions;
  readonly operator: string;
  readonly limits: AcpLimits;
  readonly #services: AgentServices;
  /** The sessions by conversation, the least recently used first. */
  readonly #sessions = new Map<string, AcpSession>();
  /** The fence of the turns of each session (`Turn.sessionFence`). */
  readonly #fences = new WeakMap<AcpSession, bigint>();
  /** The conversations that are in a turn. */
  readonly #busy = new Set<string>();
  /**
   * The slash commands by principal and workspace: sessions have those of the
   * MCP servers of their clients, too.
   */
  readonly #commands = new Map<string, readonly SlashCommand[]>();
  /** What sessions can do, by principal and workspace. */
  readonly #abilities = new Map<string, Abilities>();
  /** The directory in which the models are listed. */
  readonly #home: string;
  /**
   * The models that the last session in that directory offered. Undefined
   * before the first one.
   */
  #models: readonly OfferedModel[] | undefined;
  /** Held while the agent is started to see what it offers. */
  readonly #listing = new Semaphore(1);
  /** Held while a file is written: conversations may share a workspace. */
  readonly #writing = new Semaphore(1);
  #isClosed = false;

  constructor(
    options: AcpAgentOptions,
    limits: AcpLimits,
    services: AgentServices,
  ) {
    this.options = options;
    this.operator = services.operator;
    this.limits = limits;
    this.#services = services;
    this.approvals = options.permission?.basis;
    this.#home = services.workspace ?? services.workspaceRoots[0] ?? "";
    this.commands = {
      list: (place, signal) => this.#listCommands(place, signal),
      check: async ({ commandPath }, place, signal) =>
        findCommand(await this.#listCommands(place, signal), commandPath),
    };
  }

  createExecutor(): AcpExecutor {
    return new AcpExecutor(this);
  }

  /** Refuses MCP servers of which the agent would use all tools. */
  checkSettings({ mcpServers }: SessionSettings): void {
    const { name } = this.options;
    const limited = mcpServers.find(
      ({ includeTools, excludeTools }) =>
        includeTools.length + excludeTools.length > 0,
    );
    if (!limited) return;
    const problem = `mcp_servers ${quoted(limited.name)} cannot be used: agent ${quoted(name)} cannot limit its tools`;
    throw new DevtoolError(problem, Code.InvalidArgument, {
      remedy: "leave out include_tools and exclude_tools",
    });
  }

  /**
   * Refuses the approval mode `plan` where the agent has no mode for it, a model
   * that it does not offer, and options that clients may not set. The running
   * session of the conversation decides. Without one, the agent is started the
   * first time in a workspace, since only a session lists them.
   *
   * Sessions of others do not decide: the error would name their options.
   */
  async checkCapabilities(
    settings: SessionSettings,
    place: CommandContext,
    signal: AbortSignal,
  ): Promise<void> {
    const { approvalMode, model, agentOptions } = settings;
    const isAsked =
      approvalMode === ApprovalMode.PLAN ||
      model !== "" ||
      Object.keys(agentOptions).length > 0;
    if (!isAsked) return;
    const session = this.#sessions.get(keyOf(place));
    const isRunning = session && !session.connection.ended.aborted;
    const known = isRunning
      ? this.#abilitiesOf(session)
      : this.#abilities.get(placeKey(place));
    if (known && !this.#problemWith(settings, known)) return;
    // It may offer more than when a session was last opened.
    const found = isRunning ? known : await this.#findAbilities(place, signal);
    const problem = found && this.#problemWith(settings, found);
    if (problem) throw problem;
  }

  /** Returns the error for what an agent is not able to do; else undefined. */
  #problemWith(
    { approvalMode, model, agentOptions }: SessionSettings,
    { plans, models, options }: Abilities,
  ): DevtoolError | undefined {
    const { name, planMode = "plan" } = this.options;
    if (approvalMode === ApprovalMode.PLAN && !plans) {
      return missingMode(name, planMode);
    }
    if (model !== "" && !models) return missingModels(name);
    const names = models?.map((offered) => offered.name) ?? [];
    if (model !== "" && !names.includes(model)) {
      return invalid(
        "model",
        model,
        `is not offered by agent ${quoted(name)}`,
        `name one of ${names.slice(0, MAX_NAMED).map(quoted).join(", ")}`,
      );
    }
    return Object.entries(agentOptions)
      .map((option) => optionProblem(this.options, options, option))
      .find((problem) => problem !== undefined);
  }

  /**
   * Starts the agent to see its abilities, one at a time. Undefined where its
   * user has to log in first, which the turn asks for.
   */
  async #findAbilities(
    place: CommandPlace,
    signal: AbortSignal,
  ): Promise<Abilities | undefined> {
    using _ = await this.#listing.acquire(signal);
    try {
      await using session = await AcpSession.open(
        this.#optionsIn(place),
        signal,
      );
      return this.#noteAbilities(placeKey(place), session);
    } catch (reason) {
      if (needsLogin(reason)) return undefined;
      throw reason;
    }
  }

  #noteAbilities(key: string, session: AcpSession): Abilities {
    const able = this.#abilitiesOf(session);
    keep(this.#abilities, key, able);
    return able;
  }

  #abilitiesOf({ mode, config }: AcpSession): Abilities {
    const plans = mode.has(this.options.planMode ?? "plan");
    return { plans, models: config.models?.offered, options: config.options };
  }

  /**
   * Returns the running session of a turn's conversation, or opens it: the one
   * that the log names, or a new one.
   */
  async enter(
    { task, sessionFence }: Pick<Turn, "task" | "sessionFence">,
    signal: AbortSignal,
  ): Promise<AcpSession> {
    const key = keyOf(task);
    this.#busy.add(key);
    const open = this.#sessions.get(key);
    // Another server may have had turns of which an idle process knows nothing.
    const isCurrent =
      open &&
      open.id === task.agentSessionId &&
      this.#fences.get(open) === sessionFence;
    if (isCurrent && !open.connection.ended.aborted) return open;
    await open?.[Symbol.asyncDispose]();
    const { workspacePath = "" } = task.settings ?? {};
    const session = await AcpSession.open(
      {
        ...this.#optionsIn({ workspacePath, principal: task.principal }),
        sessionId: task.agentSessionId,
        forkedId: task.history[0]?.fork?.agentSessionId ?? "",
        mcpServers: task.sessionSettings?.mcpServers ?? [],
      },
      signal,
    );
    this.#noteAbilities(placeKey({ ...task, workspacePath }), session);
    if (task.settings?.workspacePath === this.#home) {
      this.#models = session.config.models?.offered ?? [];
    }
    this.#fences.set(session, sessionFence);
    this.#sessions.set(key, session);
    if (!this.#isClosed) return session;
    await session[Symbol.asyncDispose]();
    throw new DevtoolError("the server stops", Code.Unavailable);
  }

  /**
   * Marks the session of a conversation as idle, and ends those that have been
   * idle longest, beyond `limits.maxIdle`.
   */
  async leave(task: Task): Promise<void> {
    const key = keyOf(task);
    this.#busy.delete(key);
    const session = this.#sessions.get(key);
    if (!session) return;
    this.#sessions.delete(key);
    if (!session.connection.ended.aborted) this.#sessions.set(key, session);
    const idle = [...this.#sessions].filter(([one]) => !this.#busy.has(one));
    for (const [one, longest] of idle.slice(
      0,
      Math.max(0, idle.length - this.limits.maxIdle),
    )) {
      this.#sessions.delete(one);
      await longest[Symbol.asyncDispose]();
    }
  }

  /**
   * The model of a conversation in turns that choose none; empty while its
   * session is not open.
   */
  modelOf(task: Task): string {
    return this.#sessions.get(keyOf(task))?.config.ownModel ?? "";
  }

  /**
   * Lists the models that sessions in the server's own workspace offer. The
   * first time it starts the agent for that.
   *
   * Throws `Code.FailedPrecondition` when nobody has logged in to the agent.
   */
  async models(signal: AbortSignal): Promise<readonly OfferedModel[]> {
    using _ = await this.#listing.acquire(signal);
    if (this.#models) return this.#models;
    const place = this.#optionsIn({
      workspacePath: this.#home,
      principal: this.#services.operator,
    });
    try {
      await using session = await AcpSession.open(place, signal);
      this.#models = session.config.models?.offered ?? [];
      return this.#models;
    } catch (reason) {
      if (!needsLogin(reason)) throw reason;
      throw new DevtoolError(reason.message, Code.FailedPrecondition, {
        cause: reason,
      });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await Promise.all(
      [...this.#sessions.values()].map((session) =>
        session[Symbol.asyncDispose](),
      ),
    );
    this.#sessions.clear();
    await this.options.ide?.[Symbol.asyncDispose]?.();
  }

  /** Returns the options of a new session in a workspace, without servers. */
  #optionsIn(place: CommandPlace): AcpSessionOptions {
    const { workspacePath } = place;
    if (workspacePath === "") {
      throw new DevtoolError(
        `agent ${quoted(this.options.name)} needs a workspace`,
        Code.FailedPrecondition,
        { remedy: "name one in workspace_path" },
      );
    }
    return {
      agent: this.options,
      limits: this.limits,
      workspacePath,
      sessionId: "",
      forkedId: "",
      mcpServers: [],
      onNotice: this.#services.onNotice,
      onCommands: (update: JsonObject) => {
        keep(this.#commands, placeKey(place), commandTree(update));
      },
      writing: this.#writing,
      nowMs: () => this.#services.now().getTime(),
    };
  }

  /**
   * Lists the commands of a workspace. The first time it starts the agent for
   * that, since only a session lists them.
   */
  async #listCommands(
    where: CommandPlace,
    signal: AbortSignal,
  ): Promise<readonly SlashCommand[]> {
    const key = placeKey(where);
    const known = this.#commands.get(key);
    if (known || where.workspacePath === "") return known ?? [];
    const listed = Promise.withResolvers<void>();
    const place = this.#optionsIn(where);
    const onCommands = (update: JsonObject): void => {
      place.onCommands(update);
      listed.resolve();
    };
    const late = AbortSignal.timeout(COMMANDS_MS + this.limits.startTimeoutMs);
    await using session = await AcpSession.open(
      { ...place, onCommands },
      AbortSignal.any([signal, late]),
    );
    const { ended } = session.connection;
    const enough = AbortSignal.any([AbortSignal.timeout(COMMANDS_MS), ended]);
    await abortable(listed.promise, enough).catch(() => undefined);
    if (!this.#commands.has(key)) this.#commands.set(key, []);
    return this.#commands.get(key) ?? [];
  }
}

/** Sets an entry, and removes the oldest one beyond `MAX_WORKSPACES`. */
function keep<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > MAX_WORKSPACES && oldest !== undefined) map.delete(oldest);
}

function keyOf({
  principal,
  contextId,
}: Pick<CommandContext, "principal" | "contextId">): string {
  return `${keyPrefix(principal)}${contextId}`;
}

function placeKey({ principal, workspacePath }: CommandPlace): string {
  return `${keyPrefix(principal)}${workspacePath}`;
}

/** Returns how the keys of the conversations of a principal begin. */
function keyPrefix(principal: string): string {
  return `${JSON.stringify(principal)} `;
}
