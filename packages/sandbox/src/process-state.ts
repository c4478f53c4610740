import { readFileSync, readlinkSync } from "node:fs";

/** Returns whether a process runs; one that has ended and whose exit code nobody has read yet does not. */
export function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

/** Returns the id that `/proc` has for this process, which differs from `process.pid` for that of another pid namespace; 0 without `/proc`. */
export function ownPid(): number {
  try {
    return Number(readlinkSync("/proc/self"));
  } catch {
    return 0;
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

/** Whether this user can look at a process: `hidden` is one that runs and whose mounts the kernel does not show (`hidepid`, another user's). */
export type Visibility = "visible" | "hidden" | "ended";

/** Returns whether this user can look at the mounts of a process. */
export function visibilityOf(pid: number): Visibility {
  const read = errorCode(() => readFileSync(`/proc/${pid}/mountinfo`));
  const signal = errorCode(() => process.kill(pid, 0));
  // One whose exit code nobody has read yet has no mounts any more.
  if (signal === "ESRCH" || read === "EINVAL") return "ended";
  // It still runs, so it was there to be read.
  return signal === "" && !["ENOENT", "EACCES", "EPERM"].includes(read) ? "visible" : "hidden";
}

/** Calls a function and returns the code of the error that it throws; empty when it returns. */
function errorCode(call: () => unknown): string {
  try {
    call();
    return "";
  } catch (reason) {
    return reason instanceof Error && "code" in reason ? String(reason.code) : "unknown";
  }
}
