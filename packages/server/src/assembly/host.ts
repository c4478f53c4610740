import { join } from "node:path";
import type { McpServer, Task } from "@devtool/schema";
import { loadMemory, type Memory } from "../agent/memory.ts";
import type { Model } from "../agent/model.ts";
import type { ServerLimits, ServerOptions } from "../server-options.ts";
import { Checkpoints } from "../tool/checkpoint/checkpoints.ts";
import type { OutboundPolicy } from "../tool/outbound/outbound-policy.ts";
import type { CompiledRule } from "../tool/policy/compiled-rule.ts";
import { readPolicyFile } from "../tool/policy/policy-file.ts";
import { SavedApprovals } from "../tool/policy/saved-approvals.ts";
import { createShellAnalyzer, type ShellAnalyzer } from "../tool/policy/shell/shell-analysis.ts";
import { findSandbox, lazySandbox } from "../tool/sandbox/find-sandbox.ts";
import type { Sandbox } from "../tool/sandbox/sandbox.ts";
import { Workspace } from "../tool/workspace.ts";
import type { TrustKeeper } from "../trust/trust.ts";
import { TrustStore } from "../trust/trust-store.ts";
import { VERSION } from "../version.ts";
import { McpPool } from "./mcp-pool.ts";
import { modelSample } from "./model-sample.ts";
import { noTrust } from "./no-trust.ts";

/** What a host is made of. */
export interface AgentHostOptions {
  readonly options: ServerOptions;
  readonly limits: ServerLimits;
  readonly model: Model;
  /** The operator: whose approvals for good the server keeps. */
  readonly principal: string;
  /** The environment of commands: never secrets. */
  readonly environment: Readonly<Record<string, string>>;
  /** The ports that this server listens on. */
  readonly ownPorts: () => readonly number[];
  readonly now: () => Date;
  /** Makes ids that are never the same twice. */
  readonly nextId: () => string;
  readonly onNotice: (text: string) => void;
}

/** What all agents of a server share: the rules, the sandbox, the MCP servers, what is trusted. */
export class AgentHost implements AsyncDisposable {
  readonly shared: AgentHostOptions;
  readonly trust: TrustKeeper;
  readonly mcp: McpPool;
  /** States of workspaces to go back to; undefined where nothing can be kept. */
  readonly checkpoints: Checkpoints | undefined;
  /** Finds what confines commands, once a command is there. */
  readonly sandbox: () => Promise<Sandbox>;
  readonly analyze: ShellAnalyzer = createShellAnalyzer();
  readonly #rules: readonly CompiledRule[];
  readonly #saved: SavedApprovals | undefined;

  /** Reads the rules. Throws a `DevtoolError` for a policy file that cannot be used. */
  static async open(shared: AgentHostOptions): Promise<AgentHost> {
    const { dataDirectory } = shared.options;
    const saved = dataDirectory === undefined ? undefined : await SavedApprovals.open(dataDirectory, shared.onNotice);
    return new AgentHost(shared, await readRules(shared.options), saved);
  }

  private constructor(shared: AgentHostOptions, rules: readonly CompiledRule[], saved: SavedApprovals | undefined) {
    const { options, environment, model, onNotice } = shared;
    this.shared = shared;
    this.#rules = rules;
    this.#saved = saved;
    this.trust = trustFor(shared);
    this.checkpoints = checkpointsFor(shared);
    this.sandbox = lazySandbox(() => this.#findSandbox());
    this.mcp = new McpPool({
      environment,
      now: () => performance.now(),
      clientInfo: { name: "devtool", version: VERSION },
      sample: modelSample(model),
      ...(options.authorizeMcpServer && { authorizationOf: options.authorizeMcpServer }),
      onNotice,
    });
  }

  /** The rules of the operator and the user. */
  get rules(): readonly CompiledRule[] {
    return this.#rules;
  }

  /** What the user approved for good; undefined where nothing can be kept. */
  get saved(): SavedApprovals | undefined {
    return this.#saved;
  }

  /** What tools may reach outside this machine. */
  get outbound(): OutboundPolicy {
    const { options, ownPorts } = this.shared;
    return { allowedHosts: options.fetchTargets ?? [], ownPorts };
  }

  /** The MCP servers of a session: the operator's, then those that its client added. */
  serversOf({ sessionSettings }: Pick<Task, "sessionSettings">): readonly McpServer[] {
    const own = this.shared.options.mcpServers ?? [];
    const names = new Set(own.map(({ name }) => name));
    return [...own, ...(sessionSettings?.mcpServers ?? []).filter(({ name }) => !names.has(name))];
  }

  /** What agents are told of a workspace. */
  memoryOf(workspacePath: string): Promise<Memory> {
    const { dataDirectory, workspaceRoots = [workspacePath] } = this.shared.options;
    return loadMemory({ configDirectory: dataDirectory, workspaceRoots, trust: this.trust }, workspacePath);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.mcp[Symbol.asyncDispose]();
  }

  async #findSandbox(): Promise<Sandbox> {
    const { options, environment, onNotice } = this.shared;
    const { dataDirectory, sandbox: kind = "auto" } = options;
    const found = await findSandbox(
      kind,
      {
        hidden: dataDirectory === undefined ? [] : [dataDirectory],
        path: environment.PATH ?? "",
        machine: process.arch,
      },
      AbortSignal.timeout(SANDBOX_MS),
    );
    if (found.notice !== "") onNotice(found.notice);
    return found;
  }
}

/** Finding a sandbox may take so long. */
const SANDBOX_MS = 10_000;

async function readRules({ dataDirectory, policyFiles = [] }: ServerOptions): Promise<CompiledRule[]> {
  const own =
    dataDirectory === undefined
      ? []
      : await readPolicyFile({ path: join(dataDirectory, "policy.toml"), tier: "user", label: "policy.toml" });
  const operators = await Promise.all(policyFiles.map((path) => readPolicyFile({ path, tier: "operator" })));
  return [...own, ...operators.flat()];
}

function checkpointsFor(shared: AgentHostOptions): Checkpoints | undefined {
  const { options, environment, now, onNotice } = shared;
  const { dataDirectory } = options;
  if (dataDirectory === undefined) return undefined;
  return new Checkpoints({ dataDirectory, searchPath: environment.PATH ?? "", now, onNotice });
}

function trustFor({ options: { dataDirectory }, now }: AgentHostOptions): TrustKeeper {
  if (dataDirectory === undefined) return noTrust;
  const openDirectory = (path: string): Workspace => new Workspace(path);
  return new TrustStore({ dataDirectory, openDirectory, now });
}
