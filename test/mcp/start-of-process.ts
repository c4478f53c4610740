import { readFileSync } from "node:fs";

/**
 * When a process started, in ticks since the machine did, or undefined if it is
 * not there; one that ended and that nobody waited for is there, as a zombie.
 * With it, a process is not taken for an earlier one of the same id: a busy
 * machine gives ids again within minutes. Linux only (proc_pid_stat(5)).
 */
export function startOfProcess(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The fields after the name, which may hold spaces, begin with the third.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[22 - 3];
  } catch {
    return undefined;
  }
}
