import { type Extension, extendedAccess } from "./denial.ts";
import type { SandboxAccess } from "./sandbox.ts";

/**
 * The further access that a user granted to the commands of one task. It is
 * kept in memory only.
 */
export class SandboxGrants {
  readonly #extensions: Extension[] = [];

  /**
   * Adds an extension for later commands, except for running without a sandbox,
   * which needs approval each time.
   */
  add(extension: Extension): void {
    if (extension.case !== "unconfined") this.#extensions.push(extension);
  }

  /** Returns the access with everything that was granted. */
  apply(access: SandboxAccess): SandboxAccess {
    return this.#extensions.reduce(
      (wider, extension) => extendedAccess(wider, extension) ?? wider,
      access,
    );
  }
}
