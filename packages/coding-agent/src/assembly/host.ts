import { delimiter } from "node:path";
import { callerOfTask } from "@devtool/internal/task-caller";
import {
  type CompiledRule,
  createShellAnalyzer,
  describeRule,
  digestRules,
  readRules,
  SavedApprovals,
  type ServerRules,
  type ShellAnalyzer,
} from "@devtool/policy";
import {
  findSandbox,
  HostPrograms,
  lazySandbox,
  type Sandbox,
  sortSearchPath,
} from "@devtool/sandbox";
import {
  ApprovalMode,
  approvalModeOf,
  stricterMode,
  type Task,
} from "@devtool/schema";
import {
  type AgentServices,
  type ApprovalBasis,
  type CommandPlace,
  type OutboundPolicy,
  quoted,
} from "@devtool/server/agent";
import { HistoryCache } from "../agent/incremental-history.ts";
import { loadMemory, type Memory } from "../agent/memory.ts";
import type { AgentModel } from "../agent/model.ts";
import type {
  CodingAgentOptions,
  ToolLimits,
} from "../coding-agent-options.ts";
import type { PolicyRule } from "../command/services.ts";
import { UntoldCancels } from "../delegate/untold-cancels.ts";
import { BUILTIN_TOOL_NAMES } from "../tool/builtin/builtin-tool-names.ts";
import { Searches } from "../tool/builtin/searches.ts";
import { Checkpoints } from "../tool/checkpoint/checkpoints.ts";
import type { OpenMcp } from "../tool/mcp.ts";
import { Workspace } from "../tool/workspace.ts";
import type { TrustKeeper } from "../trust/trust.ts";
import { TrustStore } from "../trust/trust-store.ts";
import { confineServer } from "./confined-server.ts";
import { misspelledTools } from "./misspelled-tools.ts";
import { UserIde } from "./user-ide.ts";

/** Dependencies of `AgentHost`. */
export interface AgentHostDependencies {
  readonly options: CodingAgentOptions;
  readonly services: AgentServices;
  readonly limits: ToolLimits;
  readonly model: AgentModel;
  /**
   * The environment variables of commands, without secrets. `AgentHost` filters
   * its PATH.
   */
  readonly environment: Readonly<Record<string, string>>;
}

const FIND_SANDBOX_TIMEOUT_MS = 60_000;

/**
 * The trust of a server without a data directory: no workspace may configure
 * agents.
 */
const NO_TRUST: TrustKeeper = {
  trustOf: () => Promise.resolve({ case: "untrusted", reason: "" }),
  follow: () => Promise.resolve(false),
};

/**
 * The checkpoints of each server. Its coding agents share them as they share its
 * data directory.
 */
const CHECKPOINTS = new WeakMap<AgentServices, Checkpoints>();

/**
 * The state that all tasks of an agent share: rules, sandbox, MCP servers,
 * trust and checkpoints.
 */
export class AgentHost implements AsyncDisposable {
  readonly dependencies: AgentHostDependencies;
  readonly trust: TrustKeeper;
  /** Undefined when the agent does not support MCP servers. */
  readonly mcp: OpenMcp | undefined;
  /**
   * The environment variables of commands. Only root and the server's user can
   * change the programs on its PATH.
   */
  readonly environment: Readonly<Record<string, string>>;
  /**
   * The directories of PATH that are in workspaces, in the form of a PATH, for
   * commands in a sandbox.
   */
  readonly pathInWorkspaces: string;
  readonly programs: HostPrograms;
  readonly ide: UserIde;
  /** Undefined when the server has no data directory. */
  readonly checkpoints: Checkpoints | undefined;
  /** The cancellations that called agents could not be told. */
  readonly untold: UntoldCancels;
  /** Finds the sandbox for commands. */
  readonly sandbox: () => Promise<Sandbox>;
  readonly searches: Searches = new Searches();
  readonly analyze: ShellAnalyzer = createShellAnalyzer();
  readonly histories: HistoryCache = new HistoryCache();
  /** The notices that sessions got about what MCP servers list. */
  readonly toldLeftOut: Set<string> = new Set();
  /** The problems of agents and their files that the operator was told of. */
  readonly toldAgents: Set<string> = new Set();
  readonly #rules: ServerRules;
  readonly #saved: SavedApprovals | undefined;
  /**
   * The last notice about a missing sandbox. It is repeated only when the
   * reason changes.
   */
  #sandboxNotice = "";

  /**
   * Reads the rules and creates a host. Throws a `PolicyError` for an invalid
   * policy file.
   */
  static async open(dependencies: AgentHostDependencies): Promise<AgentHost> {
    const { approvals, dataDirectory, onNotice } = dependencies.services;
    const { policyFiles = [] } = dependencies.options;
    const rules = await readRules(dataDirectory, policyFiles);
    const tools = (dependencies.options.tools ?? []).map(
      ({ declaration }) => declaration.name,
    );
    for (const notice of misspelledTools(rules.rules, [
      ...BUILTIN_TOOL_NAMES,
      ...tools,
    ])) {
      onNotice(notice);
    }
    if (!dependencies.services.hasRoles) {
      for (const { rule, label } of rules.rules) {
        const [role] = rule.role;
        if (role === undefined) continue;
        onNotice(
          `${label} is for role ${quoted(role)}, which no caller has: set roles_claim or certificate_roles_attribute`,
        );
      }
    }
    // Servers share approvals, or keep their own in the data directory. Without
    // either, none are kept.
    let saved: SavedApprovals | undefined;
    if (approvals) {
      saved = new SavedApprovals(approvals, onNotice);
    } else if (dataDirectory !== undefined) {
      saved = await SavedApprovals.open(dataDirectory, onNotice);
    }
    return new AgentHost(dependencies, rules, saved);
  }

  private constructor(
    dependencies: AgentHostDependencies,
    rules: ServerRules,
    saved: SavedApprovals | undefined,
  ) {
    const { options, services, environment } = dependencies;
    const {
      dataDirectory,
      operator,
      now,
      onNotice,
      workspace,
      workspaceRoots,
    } = services;
    this.dependencies = dependencies;
    this.#rules = rules;
    this.#saved = saved;
    const roots =
      workspace === undefined ? workspaceRoots : [workspace, ...workspaceRoots];
    const { trusted, ofWorkspaces, refused } = sortSearchPath(
      environment.PATH ?? "",
      roots,
    );
    const path = (trusted.length > 0 ? trusted : ["/usr/bin", "/bin"]).join(
      delimiter,
    );
    for (const reason of refused) {
      onNotice(`a directory of PATH is left out: ${reason}`);
    }
    this.environment = { ...environment, PATH: path };
    this.pathInWorkspaces = ofWorkspaces.join(delimiter);
    this.programs = new HostPrograms(path);
    if (dataDirectory === undefined) {
      this.trust = NO_TRUST;
    } else {
      this.trust = new TrustStore({
        dataDirectory,
        openDirectory: (root) => new Workspace(root),
        now,
        onNotice,
      });
      this.checkpoints =
        CHECKPOINTS.get(services) ??
        new Checkpoints({
          dataDirectory,
          programs: this.programs,
          operator,
          now,
          onNotice,
        });
      CHECKPOINTS.set(services, this.checkpoints);
    }
    this.untold = new UntoldCancels(services);
    this.ide = new UserIde({
      ide: options.ide,
      operator,
      trust: this.trust,
      dataDirectory,
    });
    this.sandbox = lazySandbox(
      () => this.#findSandbox(),
      () => performance.now(),
    );
    this.mcp = options.mcp?.open({
      ...services,
      environment: this.environment,
      confine: (command, workspacePath) =>
        confineServer(this, command, workspacePath),
    });
  }

  /**
   * Returns the rules of the operator and the user for a principal.
   *
   * The rules are the same for all principals, but only the operator sees the
   * paths of policy files in their labels.
   */
  rulesFor(principal: string): readonly CompiledRule[] {
    const isOperator = principal === this.dependencies.services.operator;
    return isOperator ? this.#rules.rules : this.#rules.publicRules;
  }

  /**
   * Describes the rules for a principal in the order in which they are
   * evaluated: first those that the principal saved. Others than the operator
   * see no rule about other principals.
   */
  async listRules({
    principal,
    roles = [],
  }: Pick<CommandPlace, "principal" | "roles">): Promise<
    readonly PolicyRule[]
  > {
    const saved = (await this.savedApprovalsOf(principal)?.current()) ?? [];
    const { principal: caller } = callerOfTask({ principal });
    const isOperator = principal === this.dependencies.services.operator;
    const isOwn = (named: readonly string[], own: readonly string[]) =>
      named.length === 0 || named.some((name) => own.includes(name));
    return [...saved, ...this.rulesFor(principal)].flatMap(
      ({ rule, label: name, decision }) => {
        if (isOperator) {
          return { name, decision, description: describeRule(rule) };
        }
        if (!isOwn(rule.principal, [caller]) || !isOwn(rule.role, roles)) {
          return [];
        }
        const own = {
          ...rule,
          principal: rule.principal.filter((each) => each === caller),
          role: rule.role.filter((each) => roles.includes(each)),
        };
        return { name, decision, description: describeRule(own) };
      },
    );
  }

  /** What decides how far tasks go without asking. */
  get approvals(): ApprovalBasis {
    const { sandbox = "auto" } = this.dependencies.options;
    return {
      approvalMode: this.#approvalMode,
      // Without a sandbox, what runs unasked goes further, and other calls ask.
      rules: `${sandbox} ${digestRules(this.#rules.rules)}`,
    };
  }

  /**
   * Returns how far a task goes without asking: as far as the operator, the
   * session and the limit of the task allow (SESSION-3).
   */
  approvalModeOf(task: Task): ApprovalMode {
    return stricterMode(this.#approvalMode, approvalModeOf(task));
  }

  /**
   * Returns the approvals that a principal saved, or undefined where none are
   * kept.
   *
   * Only the operator has saved approvals: they must not apply to calls of
   * another principal, and no other principal may see or extend them.
   */
  savedApprovalsOf(principal: string): SavedApprovals | undefined {
    return principal === this.dependencies.services.operator
      ? this.#saved
      : undefined;
  }

  /** The addresses that tools may reach. */
  get outbound(): OutboundPolicy {
    const { options, services } = this.dependencies;
    return {
      allowedHosts: options.fetchTargets ?? [],
      ownPorts: services.ownPorts,
      allowing: (target) => `fetch_targets = [${JSON.stringify(target)}]`,
    };
  }

  /**
   * Reads the memory files for a workspace. Only the operator's agents get the
   * operator's memory files.
   */
  loadMemory({ workspacePath, principal }: CommandPlace): Promise<Memory> {
    const { dataDirectory, onNotice, operator, workspaceRoots } =
      this.dependencies.services;
    const options = {
      configDirectory: principal === operator ? dataDirectory : undefined,
      workspaceRoots:
        workspaceRoots.length > 0 ? workspaceRoots : [workspacePath],
      trust: this.trust,
      onNotice,
    };
    return loadMemory(options, workspacePath);
  }

  get #approvalMode(): ApprovalMode {
    return this.dependencies.options.approvalMode ?? ApprovalMode.DEFAULT;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.untold[Symbol.dispose]();
    await this.mcp?.[Symbol.asyncDispose]();
    await this.dependencies.options.ide?.[Symbol.asyncDispose]();
  }

  async #findSandbox(): Promise<Sandbox> {
    const { options, services } = this.dependencies;
    const { dataDirectory, onNotice } = services;
    const found = await findSandbox(
      options.sandbox ?? "auto",
      {
        hidden: dataDirectory === undefined ? [] : [dataDirectory],
        path: this.environment.PATH ?? "",
        programs: this.programs,
        machine: process.arch,
      },
      AbortSignal.timeout(FIND_SANDBOX_TIMEOUT_MS),
    );
    if (found.notice !== "" && found.notice !== this.#sandboxNotice) {
      onNotice(found.notice);
    }
    this.#sandboxNotice = found.notice;
    return found;
  }
}
