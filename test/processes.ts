import { readdirSync, readFileSync } from "node:fs";

/**
 * Returns the ids of the processes whose command line has a text, in which a
 * NUL stands between two arguments.
 */
export function processesOf(text: string): readonly string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(text);
    } catch {
      return false;
    }
  });
}
