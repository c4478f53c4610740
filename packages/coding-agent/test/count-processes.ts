import { spawnSync } from "node:child_process";

/**
 * Counts the processes of this machine that run a command with exactly these
 * words.
 */
export function countProcesses(command: string): number {
  const words = command.replaceAll(/[^\w ]/g, "\\$&");
  const { stdout, error } = spawnSync(
    "pgrep",
    ["--full", "--exact", "--count", words],
    { encoding: "utf8" },
  );
  if (error) throw error;
  return Number(stdout);
}
