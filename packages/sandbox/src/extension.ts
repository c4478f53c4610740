import type { SandboxAccess } from "./sandbox.ts";

/**
 * Further access that a command needs. A path is absolute and real, and stands
 * for all that is below it. `network` is the network of this machine, with its
 * own ports. `unconfined` is a run without any sandbox.
 */
export type Extension =
  | { readonly case: "read"; readonly path: string }
  | { readonly case: "write"; readonly path: string }
  | { readonly case: "network" }
  | { readonly case: "unconfined" };

/**
 * Returns a new access with an extension added; undefined for `unconfined`,
 * which no access describes.
 */
export function extendedAccess(
  access: SandboxAccess,
  extension: Extension,
): SandboxAccess | undefined {
  switch (extension.case) {
    case "read":
      return { ...access, readable: [...access.readable, extension.path] };
    case "write":
      return { ...access, writable: [...access.writable, extension.path] };
    case "network":
      return { ...access, network: "host" };
    case "unconfined":
      return undefined;
    default:
      return extension satisfies never;
  }
}

/**
 * Describes an extension to a user, for example as `write access to "/data"`.
 */
export function extensionWords(extension: Extension): string {
  switch (extension.case) {
    case "read":
      return `read access to ${JSON.stringify(extension.path)}`;
    case "write":
      return `write access to ${JSON.stringify(extension.path)}`;
    case "network":
      return "access to the network, this machine's own ports included";
    case "unconfined":
      return "no sandbox: it can do what you can do";
    default:
      return extension satisfies never;
  }
}

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

  /** Returns a new access with everything that was granted so far. */
  apply(access: SandboxAccess): SandboxAccess {
    return this.#extensions.reduce(
      (wider, extension) => extendedAccess(wider, extension) ?? wider,
      access,
    );
  }
}
