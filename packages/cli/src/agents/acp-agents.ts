import { accessSync, constants, statSync } from "node:fs";
import { acpAgent } from "@devtool/acp";
import type { AcpProfile } from "@devtool/acp/profiles";
import type { Agent } from "@devtool/server";
import {
  type AgentPlace,
  agentEnvironment,
  assertOwn,
  findAgentProgram,
} from "./agent-programs.ts";

/**
 * A program that speaks the Agent Client Protocol, as the operator named it.
 */
export interface AcpSource {
  /** Undefined for a command line of the operator's. */
  readonly profile: AcpProfile | undefined;
  /** A name to look up in PATH, or an absolute path. */
  readonly program: string;
  readonly args: readonly string[];
}

/**
 * Maximum time for a program to start and to open a session, in milliseconds.
 * Large ones take long on a busy machine.
 */
const START_TIMEOUT_MS = 120_000;

/**
 * Creates an agent over a program that speaks ACP. Throws an error that says
 * how to install a missing program.
 */
export async function createAcpAgent(
  name: string,
  { profile, program, args }: AcpSource,
  { setting, ...place }: AgentPlace & { readonly setting: string },
): Promise<Agent> {
  const remedy = profile
    ? `run ${profile.install}`
    : "install it, or write its absolute path";
  const command = program.startsWith("/")
    ? ownProgram(program, setting)
    : findAgentProgram(program, { ...place, setting, remedy });
  return acpAgent({
    name: profile?.title ?? name,
    command: {
      command,
      args,
      environment: agentEnvironment(profile?.variables, place),
    },
    mode: profile?.askingMode,
    permission: await place.permission(),
    ide: place.ide,
    limits: { startTimeoutMs: START_TIMEOUT_MS },
  });
}

/**
 * Returns the path of a program that the operator named by its path. Throws for
 * a file that is not executable or that others can change.
 */
function ownProgram(path: string, setting: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (!stats?.isFile()) {
    throw new Error(
      `${setting} names the program "${path}", which is not a file: check the path`,
    );
  }
  assertOwn(stats, setting);
  try {
    accessSync(path, constants.X_OK);
  } catch (cause) {
    throw new Error(
      `${setting} is not executable: chmod +x it, or name the program that runs it`,
      { cause },
    );
  }
  return path;
}
