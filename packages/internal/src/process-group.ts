import { type ChildProcess, spawnSync } from "node:child_process";

/** Options of `spawn` for a process that `signalGroup` ends with its children. */
export const GROUP_OPTIONS: {
  readonly detached: boolean;
  readonly windowsHide: true;
} = {
  // On Windows that would open a console window, and there are no groups.
  detached: process.platform !== "win32",
  windowsHide: true,
};

/** A process that was started with `GROUP_OPTIONS`. */
export type GroupLeader = Pick<ChildProcess, "pid" | "exitCode" | "signalCode">;

/**
 * Sends a signal to a process that was started with `GROUP_OPTIONS`, and to its
 * process group. Signal 0 only checks that the group exists.
 *
 * On Windows, which has no such signals, any but 0 ends the process and those
 * below it at once. The tree is found from the process, so it ends none of what
 * a process that has ended itself left behind: by then another may have its id.
 *
 * Returns false when there is none, or when it belongs to another user.
 */
export function signalGroup(
  { pid, exitCode, signalCode }: GroupLeader,
  signal: NodeJS.Signals | 0,
  platform: NodeJS.Platform = process.platform,
): boolean {
  if (pid === undefined) return false;
  if (platform === "win32") {
    // Node keeps the id from being used again until it says how it ended.
    if (exitCode !== null || signalCode !== null) return false;
    return signal === 0 || endTree(pid);
  }
  try {
    process.kill(-pid, signal);
    return true;
  } catch {
    return false;
  }
}

function endTree(pid: number): boolean {
  // By its path: Windows looks for a name in the working directory first, and
  // that may be a workspace.
  const program = `${process.env.SystemRoot ?? "C:\\Windows"}\\System32\\taskkill.exe`;
  const args = ["/T", "/F", "/PID", String(pid)];
  return spawnSync(program, args, { windowsHide: true }).status === 0;
}
