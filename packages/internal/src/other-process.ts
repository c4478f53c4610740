/**
 * Whether a process with this id runs, other than the current one.
 *
 * Use it for files that are named after the process that wrote them: when it
 * returns false, a crash left the file. That includes the id of the current
 * process, which an earlier process may have had.
 */
export function isOtherProcess(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    return process.kill(pid, 0);
  } catch (reason) {
    // EPERM: the process runs, as another user.
    return (
      reason instanceof Error && "code" in reason && reason.code === "EPERM"
    );
  }
}
