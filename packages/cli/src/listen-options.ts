import { resolve } from "node:path";
import type { ServerSettings } from "@devtool/server";
import type { OperatorConfig } from "./agents/agent-options.ts";
import { agentRegistry } from "./agents/agent-registry.ts";
import { readTokenFile } from "./token-file.ts";

/**
 * The flags of `devtool serve` for the network and for access. Each overrides
 * the config field of its name.
 */
export interface ListenFlags {
  readonly host?: string;
  readonly port?: string;
  readonly publicUrl?: string;
  readonly allowHost?: readonly string[];
  readonly allowOrigin?: readonly string[];
  readonly tokenFile?: string;
  readonly tlsEndedByProxy?: true;
  readonly requireExtension?: true;
  readonly grpcInCard?: true;
  readonly pushTarget?: readonly string[];
}

const DEFAULT_PORT = 41242;

/**
 * Returns the server's settings for the network and for access. Lists of the
 * flags are added to those of the config file.
 */
export async function listenOptions(
  flags: ListenFlags,
  { config, directory }: OperatorConfig,
): Promise<ServerSettings & { readonly host: string }> {
  const publicUrl = flags.publicUrl ?? config.publicUrl;
  const tokenFile =
    flags.tokenFile ??
    (config.tokenFile && resolve(directory, config.tokenFile));
  return {
    host: flags.host ?? (config.host || "127.0.0.1"),
    port: parsePort(flags.port ?? config.port ?? DEFAULT_PORT),
    publicUrl: publicUrl || undefined,
    allowedHosts: [...config.allowedHosts, ...(flags.allowHost ?? [])],
    allowedOrigins: [...config.allowedOrigins, ...(flags.allowOrigin ?? [])],
    pushTargets: [...config.pushTargets, ...(flags.pushTarget ?? [])],
    agentRegistry: await agentRegistry(config, directory),
    token: tokenFile === "" ? undefined : await readTokenFile(tokenFile),
    tlsEndedByProxy: flags.tlsEndedByProxy ?? config.tlsEndedByProxy,
    extensionRequired: flags.requireExtension ?? config.requireExtension,
    a2a: { grpcInCard: flags.grpcInCard ?? config.grpcInCard },
  };
}

/**
 * Returns a port as a number; 0 stands for any free port. Throws for a value
 * that is not a port.
 */
export function parsePort(value: string | number): number {
  const port = Number(value);
  if (value !== "" && Number.isInteger(port) && port >= 0 && port <= 65535) {
    return port;
  }
  throw new Error(`port "${value}" is not a port: choose 0 to 65535`);
}
