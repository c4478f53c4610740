import { accessSync, constants, statSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { isWithin } from "./guarded-places.ts";
import { SandboxError } from "./sandbox-error.ts";
import { isTrusted } from "./search-path.ts";
import { realPath } from "./system-mounts.ts";

/** Where programs of the server's own are looked for before PATH. */
const SYSTEM: readonly string[] = ["/usr/bin", "/bin", "/usr/local/bin"];

/**
 * The programs that the server itself runs outside of any sandbox: bash, bwrap, git. They are run by absolute paths, the
 * system's first, and never when a command or another user could have put them there.
 */
export class HostPrograms {
  readonly #directories: readonly string[];

  /** The path is a PATH that was cleaned (`sortSearchPath`). */
  constructor(path: string, system: readonly string[] = SYSTEM) {
    this.#directories = [...system, ...path.split(delimiter).filter((entry) => entry !== "")];
  }

  /** The absolute path of a program that lies in none of the workspaces; undefined when there is none. */
  find(name: string, workspaces: readonly string[]): string | undefined {
    return this.#directories
      .map((directory) => join(directory, name))
      .find((path) => isUsable(path) && !isIn(path, workspaces));
  }

  /** The absolute path of a program. Throws a `SandboxError` when there is none outside of the workspaces. */
  get(name: string, workspaces: readonly string[]): string {
    const path = this.find(name, workspaces);
    if (path !== undefined) return path;
    const problem = `${name} is not installed, or only where a workspace or another user can change it`;
    throw new SandboxError(problem, "missing-program", { remedy: "install it" });
  }
}

/** Whether a program or the directory it is called by lies in one of the directories, by their real paths. */
function isIn(path: string, directories: readonly string[]): boolean {
  const places = [realPath(path), realPath(dirname(path))].filter((place) => place !== undefined);
  return places.some((place) => isWithin(place, directories));
}

function isUsable(path: string): boolean {
  const real = realPath(path);
  const directory = realPath(dirname(path));
  if (real === undefined || directory === undefined || !isTrusted(directory) || !isTrusted(real)) return false;
  try {
    accessSync(path, constants.X_OK);
    return statSync(real).isFile();
  } catch {
    return false;
  }
}
