import { execFile } from "node:child_process";
import { readFile, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { objectOrEmpty, parseJsonOrUndefined } from "@devtool/internal/json";
import {
  cleanPath,
  findProgram,
  type ProgramPlace,
  unusedProgram,
} from "./agent-programs.ts";
import { AGENT_PROGRAMS, type AgentProgram } from "./known-programs.ts";

/** An agent that `devtool serve --agent` knows by name, on this machine. */
interface KnownAgent {
  readonly profile: AgentProgram;
  /** The path and version of its program. Undefined if it is not installed. */
  readonly found:
    | { readonly path: string; readonly version: string }
    | undefined;
  /**
   * Where its program is and why it is not used, in words. Undefined if it is
   * found, or nowhere.
   */
  readonly unused?: string | undefined;
}

/** Maximum time for a program to print its version, in milliseconds. */
const VERSION_TIMEOUT_MS = 5000;

/**
 * Looks up the programs of all agents that have a name. Nothing from a
 * workspace is read or started.
 */
export function knownAgents(place: ProgramPlace): Promise<KnownAgent[]> {
  return Promise.all(
    AGENT_PROGRAMS.map(async (profile) => {
      const path = findProgram(profile.program, place);
      if (path === undefined) {
        return {
          profile,
          found: undefined,
          unused: unusedProgram(profile.program, place),
        };
      }
      const version =
        (await packageVersion(dirname(await realpath(path)))) ??
        (await reportedVersion(path, place));
      return { profile, found: { path, version } };
    }),
  );
}

/**
 * Returns the version of the npm package that a directory belongs to; undefined
 * when it belongs to none.
 */
async function packageVersion(directory: string): Promise<string | undefined> {
  if (!/\/node_modules\//.test(`${directory}/`)) return undefined;
  const text = await readFile(join(directory, "package.json"), "utf8").catch(
    () => "{}",
  );
  const { name, version } = objectOrEmpty(parseJsonOrUndefined(text));
  return typeof name === "string" && typeof version === "string"
    ? version
    : packageVersion(dirname(directory));
}

/**
 * Runs `PROGRAM --version` outside of any project, and returns the version that
 * it prints; empty if it prints none.
 */
function reportedVersion(path: string, place: ProgramPlace): Promise<string> {
  const { HOME = tmpdir() } = place.env;
  const env = { PATH: cleanPath(place), HOME };
  return new Promise((resolve) => {
    const child = execFile(
      path,
      ["--version"],
      { cwd: tmpdir(), env, timeout: VERSION_TIMEOUT_MS },
      (_, stdout) => {
        resolve(/\d+\.\d+[\w.+-]*/.exec(stdout)?.[0] ?? "");
      },
    );
    child.stdin?.end();
  });
}
