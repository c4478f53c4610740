import { accessSync, constants, statSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { isWithin } from "./guarded-places.ts";
import { SandboxError } from "./sandbox-error.ts";
import { isTrusted } from "./search-path.ts";
import { realPaths } from "./system-mounts.ts";

/** Directories that are searched before PATH. */
const SYSTEM: readonly string[] = ["/usr/bin", "/bin", "/usr/local/bin"];

/** Package managers, with the words that install a package. */
const INSTALLERS: readonly (readonly [program: string, words: string])[] = [
  ["apt-get", "apt-get install"],
  ["apk", "apk add"],
  ["dnf", "dnf install"],
  ["pacman", "pacman -S"],
  ["zypper", "zypper install"],
];

/** Packages that have another name than their program. */
const PACKAGES = new Map([["bwrap", "bubblewrap"]]);

/**
 * Looks up the programs that run outside of any sandbox: bash, bwrap, git.
 *
 * They are run by absolute paths, the system's first, and never from where a
 * command or another user could have put them.
 */
export class HostPrograms {
  readonly #directories: readonly string[];

  /**
   * @param path a PATH: the trusted directories of `sortSearchPath`, joined by
   * `:`
   * @param system the directories that are searched before it
   */
  constructor(path: string, system: readonly string[] = SYSTEM) {
    this.#directories = [
      ...system,
      ...path.split(delimiter).filter((entry) => entry !== ""),
    ];
  }

  /**
   * Returns the absolute path of a program that is in none of the workspaces,
   * and that nobody but root and this user can change. Undefined when there is
   * none.
   */
  find(name: string, workspaces: readonly string[]): string | undefined {
    return this.#directories
      .map((directory) => join(directory, name))
      .find((path) => {
        const places = [...realPaths(path), ...realPaths(dirname(path))];
        return (
          isTrustedProgram(path) &&
          !places.some((place) => isWithin(place, workspaces))
        );
      });
  }

  /**
   * Returns what installs a program that is missing, in the words of the
   * system's package manager: `run apk add bubblewrap`.
   */
  remedy(name: string): string {
    const words = INSTALLERS.find(
      ([manager]) => this.find(manager, []) !== undefined,
    )?.[1];
    const wanted = PACKAGES.get(name) ?? name;
    return words === undefined ? `install ${wanted}` : `run ${words} ${wanted}`;
  }

  /**
   * Returns the absolute path of a program, as `find` does. Throws a
   * `SandboxError` with the reason `missing-program` when there is none.
   */
  get(name: string, workspaces: readonly string[]): string {
    const path = this.find(name, workspaces);
    if (path !== undefined) return path;
    const problem = `${name} is not installed, or only where a workspace or another user can change it`;
    throw new SandboxError(problem, "missing-program", {
      remedy: this.remedy(name),
    });
  }
}

/**
 * Whether a path is an executable file that nobody but root and this user can
 * change or replace.
 */
function isTrustedProgram(path: string): boolean {
  const [real = "", directory = ""] = [path, dirname(path)].flatMap(realPaths);
  if (
    real === "" ||
    directory === "" ||
    !isTrusted(directory) ||
    !isTrusted(real)
  ) {
    return false;
  }
  try {
    accessSync(path, constants.X_OK);
    return statSync(real).isFile();
  } catch {
    return false;
  }
}
