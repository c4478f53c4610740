import { readFileSync, readlinkSync } from "node:fs";

/**
 * Returns whether a process runs. A zombie, whose exit code nobody has read
 * yet, does not.
 */
export function isRunning(pid: number): boolean {
  try {
    // The name before the last parenthesis may be "a) Z 1".
    return !/\) [ZX] [^)]*$/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

/**
 * Returns the id of this process in `/proc`, which is not `process.pid` if
 * `/proc` belongs to another pid namespace; 0 without `/proc`.
 */
export function ownPid(): number {
  try {
    return Number(readlinkSync("/proc/self"));
  } catch {
    return 0;
  }
}

/**
 * Sends a signal to a process. Signal 0 only checks that it exists.
 *
 * Returns false when there is none, or when it belongs to another user.
 */
export function sendSignal(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch {
    return false;
  }
}

/**
 * Whether a process can be inspected. `hidden`: it runs, but the kernel does
 * not show its mounts (`hidepid`, or another user's process).
 */
export type Visibility = "visible" | "hidden" | "ended";

/** Returns whether this user can read the mounts of a process. */
export function visibilityOf(pid: number): Visibility {
  const read = errorCode(() => readFileSync(`/proc/${pid}/mountinfo`));
  const signal = errorCode(() => process.kill(pid, 0));
  // A zombie has no mounts any more.
  if (signal === "ESRCH" || read === "EINVAL") return "ended";
  // It still runs, so `ENOENT` means that its mounts are hidden.
  return signal === "" && !["ENOENT", "EACCES", "EPERM"].includes(read)
    ? "visible"
    : "hidden";
}

/**
 * Calls a function and returns the code of the error that it throws; empty when
 * it returns.
 */
function errorCode(call: () => unknown): string {
  try {
    call();
    return "";
  } catch (reason) {
    return reason instanceof Error && "code" in reason
      ? String(reason.code)
      : "unknown";
  }
}
