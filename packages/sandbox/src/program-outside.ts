import { isWithin } from "./guarded-places.ts";
import type { SandboxAccess } from "./sandbox.ts";
import { SandboxError } from "./sandbox-error.ts";
import { realPaths } from "./system-mounts.ts";

/**
 * Throws for a program that the command could change, and so replace the program
 * that confines it.
 */
export function assertOutside(
  program: string,
  { workspace, writable }: SandboxAccess,
): void {
  if (
    !realPaths(program).some((path) => isWithin(path, [workspace, ...writable]))
  ) {
    return;
  }
  const remedy = "install it for the system, or choose another workspace";
  throw new SandboxError(
    `${program} is in a directory that the command may write`,
    "cannot-confine",
    { remedy },
  );
}
