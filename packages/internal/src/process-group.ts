import { spawnSync } from "node:child_process";

const isWindows = process.platform === "win32";

/** Options of `spawn` for a process that `signalGroup` ends with its children. */
export const GROUP_OPTIONS: {
  readonly detached: boolean;
  readonly windowsHide: true;
} = {
  // On Windows that would open a console window, and there are no groups.
  detached: !isWindows,
  windowsHide: true,
};

/**
 * Sends a signal to a process that was started with `GROUP_OPTIONS`, and to its
 * process group. Signal 0 only checks that the group exists.
 *
 * On Windows, which has no such signals, any but 0 ends the process and those
 * below it at once. The tree is found from the process, so it ends none of what
 * a process that has ended itself left behind.
 *
 * Returns false when there is none, or when it belongs to another user.
 */
export function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  if (isWindows && signal !== 0) return endTree(pid);
  try {
    process.kill(isWindows ? pid : -pid, signal);
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
