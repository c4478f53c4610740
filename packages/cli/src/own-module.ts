import { stat } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { assertOwn } from "./agents/agent-programs.ts";
import { errorMessage } from "./errors.ts";

/**
 * Imports a module that the operator named, and returns what it exports. Throws
 * an error for a file that is missing, unsafe or cannot be loaded.
 *
 * @param path the absolute path
 * @param setting the flag or config field with its value, for errors
 * @param remedy what to name instead of a file that is missing
 */
export async function importOwn(
  path: string,
  setting: string,
  remedy: string,
): Promise<Readonly<Record<string, unknown>>> {
  const stats = await stat(path).catch((reason: unknown) => {
    const problem = errorMessage(reason);
    throw new Error(`${setting} cannot be read: ${problem}: ${remedy}`);
  });
  if (!stats.isFile()) throw new Error(`${setting} is not a file: ${remedy}`);
  assertOwn(stats, setting);
  return import(pathToFileURL(path).href).catch((reason: unknown) => {
    // Node tells nobody but its own main program where a syntax error is.
    const where =
      reason instanceof SyntaxError ? `: "node ${path}" shows where` : "";
    const problem = `${setting} cannot be loaded: ${errorMessage(reason)}`;
    throw new Error(problem + where, { cause: reason });
  });
}
