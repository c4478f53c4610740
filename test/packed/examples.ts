import { execFile } from "node:child_process";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { PackedProject } from "./project.ts";

const root = fileURLToPath(new URL("../../examples", import.meta.url));

/** Copies the examples into a project where the packages are installed. */
export async function copyExamples(project: PackedProject): Promise<void> {
  await cp(root, join(project.directory, "examples"), { recursive: true });
}

/**
 * Runs a program of an example with a Node and returns what it prints. Rejects
 * when one of its assertions fails.
 */
export async function runExample(
  project: PackedProject,
  [name, ...args]: readonly [string, ...string[]],
  environment: NodeJS.ProcessEnv = {},
): Promise<string> {
  const file = join(project.directory, "examples", name);
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [file, ...args],
    {
      cwd: project.directory,
      env: project.environment(environment),
    },
  );
  return stdout;
}
