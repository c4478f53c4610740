import { homedir } from "node:os";
import { join, resolve } from "node:path";
import type { CodingServerOptions } from "@devtool/coding-agent";
import type { Ide } from "@devtool/coding-agent/operator";
import { defined } from "@devtool/internal/json";
import { createMcp } from "@devtool/mcp";
import { storedLogins } from "@devtool/mcp/operator";
import {
  ClientMcpServers,
  SandboxKind,
  type ServerConfig,
} from "@devtool/schema/operator";
import { authenticationSettings } from "../authentication.ts";
import { readConfig } from "../config.ts";
import type { Io } from "../io.ts";
import { loginStore } from "../mcp/login-files.ts";
import { chooseModel, describeChoice } from "../model.ts";
import { type ModelKeys, readModelKeys, withModelKeys } from "../model-keys.ts";
import { callLimits, remoteAgents } from "./remote-agents.ts";
import { userIde } from "./user-ide.ts";

/**
 * The operator's configuration, and the directory that its paths are relative
 * to.
 */
export interface OperatorConfig {
  readonly config: ServerConfig;
  readonly directory: string;
  /** The data directory, with logins at MCP servers. Default: no logins. */
  readonly data?: string;
  /** The keys that `devtool login` keeps. Default: none. */
  readonly keys?: ModelKeys;
}

/**
 * Reads the named config file, or `config.toml` in the data directory, and the
 * kept keys of models.
 */
export async function operatorConfig(
  named: string | undefined,
  data: string,
): Promise<OperatorConfig> {
  const config = await readConfig(named, data);
  return {
    config,
    data,
    keys: await readModelKeys(data),
    directory: named === undefined ? data : resolve(named, ".."),
  };
}

/**
 * Returns the options of the coding agent and of authentication that the config
 * file and the environment set.
 */
export async function agentOptions(
  { config, directory, data, keys = {} }: OperatorConfig,
  { env }: Pick<Io, "env">,
  modelFlag?: string,
): Promise<CodingServerOptions & { readonly ide: Ide }> {
  const {
    mcpServers,
    fetchTargets,
    mcpTargets,
    pushTargets,
    policyFiles,
    approvalMode,
    budget,
    agentCalls,
  } = config;
  const choice = chooseModel(config.model, withModelKeys(keys, env), modelFlag);
  return {
    ...(await authenticationSettings(config, directory)),
    ...defined({ model: choice?.model }),
    mcp: createMcp({
      servers: mcpServers,
      targets: mcpTargets,
      operatorLoopback: true,
      ...(data !== undefined && { authorize: storedLogins(loginStore(data)) }),
    }),
    remoteAgents: await remoteAgents(config, directory),
    agentDirectory: join(env.HOME || homedir(), ".gemini/agents"),
    agentCalls: callLimits(agentCalls),
    ide: userIde(env),
    fetchTargets,
    pushTargets,
    budget,
    policyFiles: policyFiles.map((path) => resolve(directory, path)),
    ...(approvalMode && { approvalMode }),
    clientMcpServers: CLIENT_MCP_SERVERS[config.clientMcpServers],
    sandbox: SANDBOXES[config.sandbox],
  };
}

/**
 * Describes the model that the config file, the environment and the flag
 * choose. Empty for the scripted model.
 */
export function describeModel(
  { config, keys = {} }: OperatorConfig,
  { env }: Pick<Io, "env">,
  modelFlag?: string,
): string {
  const choice = chooseModel(config.model, withModelKeys(keys, env), modelFlag);
  return choice ? describeChoice(choice) : "";
}

const CLIENT_MCP_SERVERS: Readonly<
  Record<ClientMcpServers, "none" | "http" | "all">
> = {
  [ClientMcpServers.UNSPECIFIED]: "http",
  [ClientMcpServers.NONE]: "none",
  [ClientMcpServers.HTTP]: "http",
  [ClientMcpServers.ALL]: "all",
};

/** The names of the sandboxes as options. */
export const SANDBOXES: Readonly<
  Record<SandboxKind, "auto" | "none" | "bwrap" | "srt">
> = {
  [SandboxKind.UNSPECIFIED]: "auto",
  [SandboxKind.AUTO]: "auto",
  [SandboxKind.NONE]: "none",
  [SandboxKind.BWRAP]: "bwrap",
  [SandboxKind.SRT]: "srt",
};
