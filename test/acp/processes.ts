import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

/** Returns the ids of the processes below a process, of all generations. */
export function childrenOf(pid: number): number[] {
  const own = readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8")
      .split(" ")
      .map(Number)
      .filter((child) => child > 0),
  );
  return own.flatMap((child) => [child, ...childrenOf(child)]);
}

/** Kills the processes below a process, and waits until it has been told of each death. */
export async function killChildrenOf(pid: number): Promise<void> {
  const killed = childrenOf(pid);
  for (const child of killed) process.kill(child, "SIGKILL");
  while (childrenOf(pid).some((child) => killed.includes(child))) await delay(20);
}
