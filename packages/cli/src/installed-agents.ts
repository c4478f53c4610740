import { execFile } from "node:child_process";
import { readFile, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ACP_PROFILES, type AcpProfile } from "@devtool/acp/profiles";
import { cleanPath, findProgram, type ProgramPlace } from "./agent-programs.ts";

/** An agent that `devtool serve --agent` knows by name, on this machine. */
export interface KnownAgent {
  readonly profile: AcpProfile;
  /** The path and version of its program. Undefined if it is not installed. */
  readonly found: { readonly path: string; readonly version: string } | undefined;
}

/** Maximum time for a program to say its version, in milliseconds. */
const VERSION_TIMEOUT_MS = 5000;

/** Looks up the programs of all agents that have a name. Nothing from a workspace is read or started. */
export function knownAgents(place: ProgramPlace): Promise<KnownAgent[]> {
  return Promise.all(
    ACP_PROFILES.map(async (profile) => {
      const path = findProgram(profile.program, place);
      const found = path === undefined ? undefined : { path, version: await versionOf(path, place) };
      return { profile, found };
    }),
  );
}

/** Returns the version of the npm package that a program is in, or else what the program says; empty if neither tells. */
async function versionOf(path: string, place: ProgramPlace): Promise<string> {
  return (await packageVersion(dirname(await realpath(path)))) ?? spokenVersion(path, place);
}

async function packageVersion(directory: string): Promise<string | undefined> {
  if (!/\/node_modules\//.test(`${directory}/`)) return undefined;
  const text = await readFile(join(directory, "package.json"), "utf8").catch(() => "{}");
  const { name, version }: { readonly name?: unknown; readonly version?: unknown } = parsed(text);
  return typeof name === "string" && typeof version === "string" ? version : packageVersion(dirname(directory));
}

function parsed(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}

/** Runs `PROGRAM --version` outside of any project. */
function spokenVersion(path: string, place: ProgramPlace): Promise<string> {
  const { HOME = tmpdir() } = place.env;
  const env = { PATH: cleanPath(place), HOME };
  return new Promise((resolve) => {
    const child = execFile(path, ["--version"], { cwd: tmpdir(), env, timeout: VERSION_TIMEOUT_MS }, (_, stdout) => {
      resolve(/\d+\.\d+[\w.+-]*/.exec(stdout)?.[0] ?? "");
    });
    child.stdin?.end();
  });
}
