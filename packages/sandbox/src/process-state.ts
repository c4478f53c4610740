import { readFileSync } from "node:fs";

/** Returns whether a process runs; one that has ended and whose exit code nobody has read yet does not. */
export function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

/**
 * Sends a signal to a process, or to the group of a negative number; 0 only looks whether it exists. Returns false when there is none, or it
 * belongs to another user.
 */
export function sendSignal(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch {
    return false;
  }
}
