import { delimiter, join } from "node:path";
import {
  type CompiledRule,
  createShellAnalyzer,
  readPolicyFile,
  SavedApprovals,
  type ShellAnalyzer,
} from "@devtool/policy";
import {
  findSandbox,
  HostPrograms,
  lazySandbox,
  type Sandbox,
  type SearchPath,
  sortSearchPath,
} from "@devtool/sandbox";
import type { AgentServices, CommandPlace, OutboundPolicy } from "@devtool/server/agent";
import { loadMemory, type Memory } from "../agent/memory.ts";
import type { Model } from "../agent/model.ts";
import { ToldConversations } from "../agent/told-history.ts";
import type { CodingAgentOptions, ToolLimits } from "../coding-agent-options.ts";
import { Searches } from "../tool/builtin/searches.ts";
import { Checkpoints } from "../tool/checkpoint/checkpoints.ts";
import type { OpenMcp } from "../tool/mcp.ts";
import { Workspace } from "../tool/workspace.ts";
import type { TrustKeeper } from "../trust/trust.ts";
import { TrustStore } from "../trust/trust-store.ts";
import { modelSample } from "./model-sample.ts";
import { noTrust } from "./no-trust.ts";

/** Dependencies of `AgentHost`. */
export interface AgentHostOptions {
  readonly options: CodingAgentOptions;
  readonly services: AgentServices;
  readonly limits: ToolLimits;
  readonly model: Model;
  /** The environment of commands, before its PATH is cleaned: never secrets. */
  readonly environment: Readonly<Record<string, string>>;
}

/** What all agents of a server share: the rules, the sandbox, the MCP servers, what is trusted. */
export class AgentHost implements AsyncDisposable {
  readonly shared: AgentHostOptions;
  readonly trust: TrustKeeper;
  /** Undefined where the agent has no MCP servers. */
  readonly mcp: OpenMcp | undefined;
  /** The environment of commands: its PATH has only what nobody but root and this user can change. */
  readonly environment: Readonly<Record<string, string>>;
  /** The directories of PATH that lie in workspaces, as a PATH: for commands in a sandbox. */
  readonly pathInWorkspaces: string;
  readonly programs: HostPrograms;
  /** States of workspaces to go back to; undefined where nothing can be kept. */
  readonly checkpoints: Checkpoints | undefined;
  /** Finds what confines commands, once a command is there. */
  readonly sandbox: () => Promise<Sandbox>;
  readonly searches: Searches = new Searches();
  readonly analyze: ShellAnalyzer = createShellAnalyzer();
  readonly conversations: ToldConversations = new ToldConversations();
  readonly #rules: readonly CompiledRule[];
  readonly #rulesWithoutPaths: readonly CompiledRule[];
  readonly #saved: SavedApprovals | undefined;
  /** Why there was no sandbox when one was looked for last: told once for each reason. */
  #noSandboxNotice = "";

  /** Reads the rules. Throws a `PolicyError` for a policy file that cannot be used. */
  static async open(shared: AgentHostOptions): Promise<AgentHost> {
    const { dataDirectory, onNotice } = shared.services;
    const saved = dataDirectory === undefined ? undefined : await SavedApprovals.open(dataDirectory, onNotice);
    return new AgentHost(shared, await readRules(shared), saved);
  }

  private constructor(shared: AgentHostOptions, rules: readonly ReadRule[], saved: SavedApprovals | undefined) {
    const { options, model } = shared;
    const { onNotice } = shared.services;
    this.shared = shared;
    const { trusted, ofWorkspaces, refused } = searchPathFor(shared);
    this.environment = { ...shared.environment, PATH: trusted.join(delimiter) };
    this.pathInWorkspaces = ofWorkspaces.join(delimiter);
    this.programs = new HostPrograms(this.environment.PATH ?? "");
    for (const why of refused) onNotice(`a directory of PATH is left out: ${why}`);
    this.#rules = rules.map(({ compiled }) => compiled);
    this.#rulesWithoutPaths = rules.map(({ compiled, labelWithoutPath: label }) => ({ ...compiled, label }));
    this.#saved = saved;
    this.trust = trustFor(shared);
    this.checkpoints = checkpointsFor(shared, this.programs);
    this.sandbox = lazySandbox(
      () => this.#findSandbox(),
      () => performance.now(),
    );
    this.mcp = options.mcp?.open({ ...shared.services, environment: this.environment, sample: modelSample(model) });
  }

  /** The rules of the operator and the user, which hold for all. Where the operator's files are is shown to the operator alone. */
  rulesFor(principal: string): readonly CompiledRule[] {
    return principal === this.shared.services.operator ? this.#rules : this.#rulesWithoutPaths;
  }

  /**
   * What a principal approved for good; undefined where nothing is kept. It is the operator's: it must not let through what
   * another principal runs, and no other may add to it or see it.
   */
  savedOf(principal: string): SavedApprovals | undefined {
    return principal === this.shared.services.operator ? this.#saved : undefined;
  }

  /** What tools may reach outside this machine. */
  get outbound(): OutboundPolicy {
    const { options, services } = this.shared;
    const { ownPorts } = services;
    const allowing = (target: string): string => `fetch_targets = [${JSON.stringify(target)}]`;
    return { allowedHosts: options.fetchTargets ?? [], ownPorts, allowing };
  }

  /** What agents of a principal are told of a workspace. Only the operator's are told the operator's own memory. */
  memoryOf({ workspacePath, principal }: CommandPlace): Promise<Memory> {
    const { dataDirectory, onNotice, operator, workspaceRoots: named } = this.shared.services;
    const workspaceRoots = named.length > 0 ? named : [workspacePath];
    const configDirectory = principal === operator ? dataDirectory : undefined;
    return loadMemory({ configDirectory, workspaceRoots, trust: this.trust, onNotice }, workspacePath);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.mcp?.[Symbol.asyncDispose]();
  }

  async #findSandbox(): Promise<Sandbox> {
    const { options, services } = this.shared;
    const { dataDirectory, onNotice } = services;
    const { sandbox: kind = "auto" } = options;
    const found = await findSandbox(
      kind,
      {
        hidden: dataDirectory === undefined ? [] : [dataDirectory],
        path: this.environment.PATH ?? "",
        programs: this.programs,
        machine: process.arch,
      },
      AbortSignal.timeout(SANDBOX_MS),
    );
    if (found.notice !== "" && found.notice !== this.#noSandboxNotice) onNotice(found.notice);
    this.#noSandboxNotice = found.notice;
    return found;
  }
}

/** Finding a sandbox may take so long. */
const SANDBOX_MS = 10_000;

interface ReadRule {
  readonly compiled: CompiledRule;
  /** The label with the number of the operator's file in place of its path, for instance `operator-1:3`. */
  readonly labelWithoutPath: string;
}

async function readRules({ options: { policyFiles = [] }, services }: AgentHostOptions): Promise<ReadRule[]> {
  const { dataDirectory } = services;
  const own =
    dataDirectory === undefined
      ? []
      : await readPolicyFile({ path: join(dataDirectory, "policy.toml"), tier: "user", label: "policy.toml" });
  const operators = policyFiles.map(async (path, index) => {
    const rules = await readPolicyFile({ path, tier: "operator" });
    return rules.map((compiled) => ({
      compiled,
      labelWithoutPath: `operator-${index + 1}${compiled.label.slice(path.length)}`,
    }));
  });
  const owns = own.map((compiled) => ({ compiled, labelWithoutPath: compiled.label }));
  return [...owns, ...(await Promise.all(operators)).flat()];
}

function searchPathFor({ services, environment }: AgentHostOptions): SearchPath {
  const { workspace, workspaceRoots } = services;
  const roots = workspace === undefined ? workspaceRoots : [workspace, ...workspaceRoots];
  const found = sortSearchPath(environment.PATH ?? "", roots);
  return found.trusted.length > 0 ? found : { ...found, trusted: ["/usr/bin", "/bin"] };
}

function checkpointsFor({ services }: AgentHostOptions, programs: HostPrograms): Checkpoints | undefined {
  const { dataDirectory, operator, now, onNotice } = services;
  if (dataDirectory === undefined) return undefined;
  return new Checkpoints({ dataDirectory, programs, operator, now, onNotice });
}

function trustFor({ services: { dataDirectory, now } }: AgentHostOptions): TrustKeeper {
  if (dataDirectory === undefined) return noTrust;
  const openDirectory = (path: string): Workspace => new Workspace(path);
  return new TrustStore({ dataDirectory, openDirectory, now });
}
