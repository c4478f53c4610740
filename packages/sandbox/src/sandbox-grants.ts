import { type Extension, extendedAccess } from "./denial.ts";
import type { SandboxAccess } from "./sandbox.ts";

/** What a user granted the commands of one task beyond what they have; forgotten with the server. */
export class SandboxGrants {
  readonly #extensions: Extension[] = [];

  /** Keeps an extension for the commands to come. Never the end of confinement: that is asked for each time. */
  add(extension: Extension): void {
    if (extension.case !== "unconfined") this.#extensions.push(extension);
  }

  /** The access with all that was granted. */
  apply(access: SandboxAccess): SandboxAccess {
    return this.#extensions.reduce((wider, extension) => extendedAccess(wider, extension) ?? wider, access);
  }
}
