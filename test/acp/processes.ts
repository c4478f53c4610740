import { readdirSync, readFileSync } from "node:fs";

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
