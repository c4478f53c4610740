import {
  accessSync,
  constants,
  realpathSync,
  type Stats,
  statSync,
} from "node:fs";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import {
  EVERYBODY_WRITES,
  grants,
  isOfAnother,
} from "@devtool/internal/file-access";
import { HostPrograms, sortSearchPath } from "@devtool/sandbox";
import { whyUntrusted } from "@devtool/sandbox/operator";
import type { ApprovalMode } from "@devtool/schema";
import type { PermissionPolicy } from "@devtool/server/agent";
import type { Io } from "../io.ts";
import type { OperatorIde } from "./user-ide.ts";

/** Where programs are looked up. */
export interface ProgramPlace {
  readonly env: Io["env"];
  /** The directories of workspaces. No program is run from them. */
  readonly workspaces: readonly string[];
}

/**
 * Where the programs of agents are looked up, and how their permission requests
 * are answered.
 */
export interface AgentPlace extends ProgramPlace {
  /**
   * The actions that agents may perform without approval. Default: those that
   * change nothing.
   */
  readonly approvalMode: ApprovalMode | undefined;
  /**
   * Creates the policy that answers the permission requests of agents before
   * their user is asked.
   */
  readonly permission: () => Promise<PermissionPolicy>;
  /** What the editors of the server's user show. Default: there are none. */
  readonly ide?: OperatorIde | undefined;
}

/**
 * Returns the absolute path of a program that only root and this user can
 * change, and that is in no workspace.
 */
export function findProgram(
  name: string,
  place: ProgramPlace,
): string | undefined {
  return new HostPrograms(cleanPath(place), []).find(name, place.workspaces);
}

/**
 * Returns where a program is that `findProgram` does not return, and why, in
 * words; undefined if it is not in PATH at all.
 */
export function unusedProgram(
  name: string,
  place: ProgramPlace,
): string | undefined {
  const directories = (place.env.PATH ?? "")
    .split(delimiter)
    .filter(isAbsolute);
  const path = directories
    .map((directory) => join(directory, name))
    .find(isExecutable);
  if (path === undefined) return undefined;
  const places = [dirname(path), path].map((each) => realpathSync(each));
  const [why] = places.flatMap((each) => whyUntrusted(each) ?? []);
  if (why !== undefined) return `${path} is not used, since ${why}`;
  const isOnlyInside =
    findProgram(name, { ...place, workspaces: [] }) !== undefined;
  if (!isOnlyInside) {
    return `${path} is not used, since it is a program of a project`;
  }
  const [workspace = ""] = place.workspaces;
  return `${path} is not used for work in ${workspace}, which contains it: work in another directory`;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/**
 * Returns the directories of PATH in which only root and this user can change
 * programs, without those of workspaces.
 */
export function cleanPath({ env, workspaces }: ProgramPlace): string {
  return sortSearchPath(env.PATH ?? "", workspaces).trusted.join(delimiter);
}

/**
 * Returns the absolute path of an agent's program. Throws an error that says
 * how to install a missing one.
 */
export function findAgentProgram(
  name: string,
  {
    setting,
    remedy,
    ...place
  }: ProgramPlace & { readonly setting: string; readonly remedy: string },
): string {
  const path = findProgram(name, place);
  if (path !== undefined) return path;
  const unused = unusedProgram(name, place);
  throw new Error(
    unused === undefined
      ? `${setting} needs the program "${name}", which is not in PATH: ${remedy}`
      : `${setting} needs the program "${name}": ${unused}, or ${remedy}`,
  );
}

/**
 * Asserts that only root and this user can change a file, since it runs with
 * this user's rights.
 */
export function assertOwn(stats: Stats, setting: string): void {
  if (grants(stats, EVERYBODY_WRITES)) {
    throw new Error(`${setting} may be changed by everybody: chmod o-w it`);
  }
  if (stats.uid !== 0 && isOfAnother(stats)) {
    throw new Error(
      `${setting} belongs to another user: look at what it does, and chown it`,
    );
  }
}

/**
 * Variables that every program of an agent gets: how to reach the network, and
 * where its own files are.
 */
const VARIABLES: readonly string[] = [
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "NO_PROXY",
  "ALL_PROXY",
  "http_proxy",
  "https_proxy",
  "no_proxy",
  "all_proxy",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "NODE_EXTRA_CA_CERTS",
  "XDG_*",
  "TZ",
  "SHELL",
];

/**
 * Returns the variables of the operator's environment for an agent's program:
 * those that it is known to need, or all for a command line of the operator's,
 * who knows what it needs. Tokens of devtool are never among them.
 */
export function agentEnvironment(
  variables: readonly string[] | undefined,
  place: ProgramPlace,
): Record<string, string> {
  const wanted = variables ? [...VARIABLES, ...variables] : ["*"];
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(place.env)) {
    if (value === undefined || name.startsWith("DEVTOOL_")) continue;
    const isWanted = wanted.some((want) =>
      want.endsWith("*") ? name.startsWith(want.slice(0, -1)) : name === want,
    );
    if (isWanted) environment[name] = value;
  }
  return { ...environment, PATH: cleanPath(place) };
}
