import { open } from "node:fs/promises";
import { resolve } from "node:path";
import type { ServerSettings } from "@devtool/server";
import type { OperatorConfig } from "./agents/agent-options.ts";
import { errorMessage } from "./errors.ts";

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

/** Minimum length of a token in characters: 128 bits in hexadecimal digits. */
const MIN_TOKEN_LENGTH = 32;

/**
 * Reads a bearer token from a file: the operator's, or that of the metrics.
 *
 * Throws when the file cannot be read, when others can read it, and when it
 * does not hold a bearer token (RFC 6750) of sufficient length.
 */
export async function readTokenFile(path: string): Promise<string> {
  await using file = await open(path).catch((reason: unknown) => {
    throw new Error(
      `token file "${path}" cannot be read: ${errorMessage(reason)}`,
      { cause: reason },
    );
  });
  // Owner and mode are those of the open file, so that the file cannot be
  // replaced after the check.
  const { mode, uid } = await file.stat();
  if (uid !== 0 && uid !== process.getuid?.()) {
    throw new Error(
      `token file "${path}" belongs to another user, who knows the token: write another`,
    );
  }
  if ((mode & 0o077) !== 0) {
    throw new Error(`token file "${path}" is open to others: chmod 600 it`);
  }

  const token = (await file.readFile("utf8")).trim();
  if (token.length >= MIN_TOKEN_LENGTH && /^[\w.~+/-]+=*$/.test(token)) {
    return token;
  }
  const content = `one line of ${MIN_TOKEN_LENGTH} or more letters, digits and -._~+/`;
  throw new Error(
    `token file "${path}" does not hold a token: it needs ${content}, as "openssl rand -hex 32" prints`,
  );
}
