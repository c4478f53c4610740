import { accessSync, constants, statSync } from "node:fs";
import { acpAgent, type PermissionPolicy } from "@devtool/acp";
import type { AcpProfile } from "@devtool/acp/profiles";
import type { Agent } from "@devtool/server";
import { cleanPath, findProgram, type ProgramPlace } from "./agent-programs.ts";

/** A program that speaks the Agent Client Protocol, as the operator named it. */
export interface AcpSource {
  /** Undefined for a command line of the operator's. */
  readonly profile: AcpProfile | undefined;
  /** A name to look up in PATH, or an absolute path. */
  readonly program: string;
  readonly args: readonly string[];
}

/** Where the programs of agents are looked up, and what answers for their user. */
export interface AgentPlace extends ProgramPlace {
  /** Creates what decides about the permission requests of agents before their user is asked. */
  readonly permission: () => Promise<PermissionPolicy>;
}

/** Variables that every program of an agent gets: how to reach the network, and where its own files are. */
const VARIABLES: readonly string[] = [
  ...["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy"],
  ...["SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "XDG_*", "TZ", "SHELL"],
];

/** Maximum time for a program to start and to open a session, in milliseconds. Large ones take long on a busy machine. */
const START_TIMEOUT_MS = 120_000;

/** Creates an agent over a program that speaks ACP. Throws an error that says how to install a missing program. */
export async function createAcpAgent(
  name: string,
  { profile, program, args }: AcpSource,
  { said, ...place }: AgentPlace & { readonly said: string },
): Promise<Agent> {
  const command = program.startsWith("/") ? ownProgram(program, said) : findProgram(program, place);
  if (command === undefined) {
    const remedy = profile ? `run ${profile.install}` : "install it, or write its absolute path";
    throw new Error(
      `${said} needs the program "${program}", which is not in PATH, or only where a workspace or another user can change it: ${remedy}`,
    );
  }
  return acpAgent({
    name: profile?.title ?? name,
    command: { command, args, environment: agentEnvironment(profile, place) },
    mode: profile?.askingMode,
    permission: await place.permission(),
    limits: { startTimeoutMs: START_TIMEOUT_MS },
  });
}

/** Returns the path of a program that the operator named by its path. Throws for a file that is not executable or that others can change. */
function ownProgram(path: string, said: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (!stats?.isFile()) throw new Error(`${said} names the program "${path}", which is not a file: check the path`);
  if ((stats.mode & 0o002) !== 0) throw new Error(`${said} may be changed by everybody: chmod o-w it`);
  if (stats.uid !== 0 && stats.uid !== process.getuid?.()) {
    throw new Error(`${said} belongs to another user: look at what it does, and chown it`);
  }
  try {
    accessSync(path, constants.X_OK);
  } catch (cause) {
    throw new Error(`${said} is not executable: chmod +x it, or name the program that runs it`, { cause });
  }
  return path;
}

/**
 * Returns the variables of the operator's environment for an agent's program: those of its profile, or all for a command line of the
 * operator's, who knows what it needs. Tokens of devtool are never among them.
 */
function agentEnvironment(profile: AcpProfile | undefined, place: ProgramPlace): Record<string, string> {
  const wanted = profile ? [...VARIABLES, ...profile.variables] : ["*"];
  const isWanted = (name: string): boolean =>
    !name.startsWith("DEVTOOL_") &&
    wanted.some((want) => (want.endsWith("*") ? name.startsWith(want.slice(0, -1)) : name === want));
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(place.env)) {
    if (value !== undefined && isWanted(name)) environment[name] = value;
  }
  return { ...environment, PATH: cleanPath(place) };
}
