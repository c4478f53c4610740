import { resolve } from "node:path";
import { ClientMcpServers, SandboxKind, type ServerConfig } from "@devtool/schema";
import type { ServerOptions } from "@devtool/server";
import { authenticationOf } from "./authentication.ts";
import { readConfig } from "./config.ts";
import type { Io } from "./io.ts";
import { findModel } from "./model.ts";

/** What the config file and the environment say about agents: `named` is the file, or `config.toml` in the data directory. */
export async function agentOptions(
  named: string | undefined,
  data: string,
  { env }: Pick<Io, "env">,
): Promise<ServerOptions> {
  const config = await readConfig(named, data);
  const model = await findModel(config.model, env);
  const directory = named === undefined ? data : resolve(named, "..");
  return { ...settingsOf(config, directory), ...(await authenticationOf(config, directory)), ...(model && { model }) };
}

/** What a config file says, as the server takes it; paths in it are relative to its directory. */
function settingsOf(config: ServerConfig, directory: string): ServerOptions {
  const { mcpServers, fetchTargets, pushTargets, policyFiles, approvalMode } = config;
  return {
    mcpServers,
    fetchTargets,
    pushTargets,
    policyFiles: policyFiles.map((path) => resolve(directory, path)),
    ...(approvalMode && { approvalMode }),
    clientMcpServers: CLIENT_MCP_SERVERS[config.clientMcpServers],
    sandbox: SANDBOXES[config.sandbox],
  };
}

const CLIENT_MCP_SERVERS: Readonly<Record<ClientMcpServers, "none" | "http" | "all">> = {
  [ClientMcpServers.UNSPECIFIED]: "http",
  [ClientMcpServers.NONE]: "none",
  [ClientMcpServers.HTTP]: "http",
  [ClientMcpServers.ALL]: "all",
};

const SANDBOXES: Readonly<Record<SandboxKind, "auto" | "none" | "bwrap">> = {
  [SandboxKind.UNSPECIFIED]: "auto",
  [SandboxKind.AUTO]: "auto",
  [SandboxKind.NONE]: "none",
  [SandboxKind.BWRAP]: "bwrap",
};
