import {
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { homedir, tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { isWithin, readGuardedPlaces } from "./guarded-places.ts";
import { assertOutside } from "./program-outside.ts";
import { programVariables } from "./program-variables.ts";
import { readRegularFile } from "./regular-file.ts";
import type { GuardedPlaces, Sandbox, SandboxAccess } from "./sandbox.ts";
import { SandboxError } from "./sandbox-error.ts";
import { realPaths, toolDirectories } from "./system-mounts.ts";
import { isGrantable } from "./workspace-mounts.ts";

/**
 * The bash script that runs the program inside of the sandbox. It takes the
 * variables from a file, which it empties, and writes the exit code to another:
 * `srt` itself exits with 0 after SIGTERM and SIGINT.
 */
const RUN: string = `
run=$1
shift
variables=()
while IFS= read -r -d "" variable; do variables+=("$variable"); done <"$run/environment"
: >"$run/environment"
/usr/bin/env "\${variables[@]}" "$@"
code=$?
echo "$code" >"$run/exit-code"
exit "$code"`;

/** The machine that an srt sandbox runs on. */
export interface SrtOptions {
  /** The absolute path of `srt`. */
  readonly program: string;
  /** Paths that no command reads or writes, whatever it was granted. */
  readonly hidden: readonly string[];
  /** The PATH of commands: they may read its directories. */
  readonly path: string;
}

/**
 * Returns a sandbox that runs commands by the program `srt` of
 * `@anthropic-ai/sandbox-runtime`: in Seatbelt on macOS, in bubblewrap on Linux.
 *
 * The program and not the library, whose settings and signal handlers are those
 * of the whole process.
 */
export function createSrtSandbox({
  program,
  hidden,
  path,
}: SrtOptions): Sandbox {
  const srt = dirname(dirname(realpathSync(program)));
  return {
    name: "srt",
    confines: true,
    promise:
      "a command writes the workspace and a temporary directory that all commands share, reads no other file of the home directory, and reaches no network, also when that is granted; it can read what lies elsewhere",
    notice: "",
    command: async (request) => {
      const { argv, environment, access, shell } = request;
      assertOutside(program, access);
      const variables = programVariables(environment);
      if (access.network === "host") {
        throw cannotConfine("the network cannot be opened to a command");
      }
      const guarded = await readGuardedPlaces(
        access.workspace,
        access.workspaceAccess ?? "write",
      );
      const settingsWith = readSettings(access, {
        guarded,
        hidden: hidden.flatMap(realPaths),
        tools: [srt, ...toolDirectories(path)],
      });
      // For this user alone. It is removed when the command has ended.
      const own = mkdtempSync(join(realpathSync(tmpdir()), "devtool-srt-"));
      const file = join(own, "settings.json");
      const home = join(own, "home");
      const run = join(own, "run");
      const text = [...variables, ["HOME", home], ["TMPDIR", home]]
        .map(([name, value]) => `${name}=${value}\0`)
        .join("");
      const wrapped = [shell, "-c", RUN, "bash", run, ...argv];
      return {
        ...request,
        argv: [program, "--settings", file, "--", ...wrapped],
        environment: {
          PATH: [dirname(process.execPath), path].join(delimiter),
          HOME: home,
          CLAUDE_CODE_TMPDIR: home,
        },
        inputs: [],
        supervised: false,
        guarded,
        hold: () => {
          mkdirSync(home);
          mkdirSync(run);
          writeFileSync(join(run, "environment"), text);
          writeFileSync(file, JSON.stringify(settingsWith([home, run])));
          return {
            taken: [],
            [Symbol.dispose]: () =>
              rmSync(own, { recursive: true, force: true }),
          };
        },
        exitCode: () => readExitCode(join(run, "exit-code")),
      };
    },
    canGrant: (place, guarded) =>
      isGrantable(place, guarded, hidden.flatMap(realPaths)),
  };
}

/** Reads an exit code; undefined for a file that a program has spoiled. */
function readExitCode(path: string): number | undefined {
  const code = /^\d{1,3}(?=\n$)/.exec(`${readRegularFile(path, 4)}`)?.[0];
  return code === undefined ? undefined : Number(code);
}

interface SettingsPlaces {
  readonly guarded: GuardedPlaces;
  readonly hidden: readonly string[];
  readonly tools: readonly string[];
}

/**
 * Returns the settings of `srt` for a command with directories of its own, in the
 * format of its `.srt-settings.json`.
 */
function readSettings(
  { workspace, workspaceAccess, readable, writable }: SandboxAccess,
  { guarded, hidden, tools }: SettingsPlaces,
): (own: readonly string[]) => object {
  const granted = writable.filter((path) => isGrantable(path, guarded, hidden));
  const allowRead = [workspace, ...readable, ...granted, ...tools];
  // What may be read wins over what may not.
  const shown = hidden.find((path) => isWithin(path, allowRead));
  if (shown !== undefined) {
    throw cannotConfine(
      `${JSON.stringify(shown)} lies in what a command may read`,
    );
  }
  const { present, missing, missingFiles, repositories, gitDirectories } =
    guarded;
  const kept = [
    ...present,
    ...missing,
    ...missingFiles,
    ...repositories,
    ...gitDirectories,
  ];
  return (own) => ({
    network: { allowedDomains: [], deniedDomains: [] },
    filesystem: {
      denyRead: [...realPaths(homedir()), ...hidden],
      allowRead: [...own, ...allowRead],
      allowWrite: [
        ...own,
        ...(workspaceAccess === "read" ? [] : [workspace]),
        ...granted,
      ],
      denyWrite: [...kept.filter((path) => !granted.includes(path)), ...hidden],
    },
  });
}

function cannotConfine(problem: string): SandboxError {
  return new SandboxError(
    `sandbox "srt" cannot confine the command: ${problem}`,
    "cannot-confine",
    { remedy: 'choose sandbox "bwrap" or "none"' },
  );
}
