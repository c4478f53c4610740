import { readFile, writeFile } from "node:fs/promises";
import { getSystemErrorMap } from "node:util";

/**
 * Reads a file that the user names, and what it says. Throws with its path and
 * what is wrong.
 */
export async function readInput<T>(
  path: string,
  parse: (text: string) => T,
): Promise<T> {
  const text = await readFile(path, "utf8").catch((cause: unknown): never => {
    throw new Error(`${path} cannot be read: ${systemProblem(cause)}`, {
      cause,
    });
  });
  try {
    return parse(text);
  } catch (cause) {
    const problem = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`${path} cannot be used: ${problem}`, { cause });
  }
}

/**
 * Throws if a report cannot be written, before the cases are played. A file
 * that is there keeps what it has.
 */
export async function assertWritable(path: string): Promise<void> {
  await writeFile(path, "", { flag: "a" }).catch((cause: unknown): never => {
    const problem = `the report ${path} cannot be written: ${systemProblem(cause)}`;
    throw new Error(problem, { cause });
  });
}

function systemProblem(cause: unknown): string {
  const { errno, message } = Object(cause);
  const [, words] = getSystemErrorMap().get(errno) ?? [];
  return words ?? String(message);
}
