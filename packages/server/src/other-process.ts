/**
 * Whether another living process has an id. What a process of that id left unfinished in a file is of a crash when none
 * has, and also when it is this process, which has an id that one before it had.
 */
export function isOtherProcess(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    return process.kill(pid, 0);
  } catch (reason) {
    return reason instanceof Error && "code" in reason && reason.code === "EPERM";
  }
}
