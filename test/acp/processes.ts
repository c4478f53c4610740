import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

/**
 * Returns the ids of the processes below a process, of all generations. A
 * process that ends meanwhile may be missing.
 */
export function childrenOf(pid: number): number[] {
  const own = threadsOf(pid).flatMap((thread) =>
    childrenOfThread(`/proc/${pid}/task/${thread}`),
  );
  return own.flatMap((child) => [child, ...childrenOf(child)]);
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch (reason) {
    return rethrowUnlessEnded(reason);
  }
}

function childrenOfThread(path: string): number[] {
  try {
    const ids = readFileSync(`${path}/children`, "utf8").split(" ");
    return ids.map(Number).filter((child) => child > 0);
  } catch (reason) {
    return rethrowUnlessEnded(reason);
  }
}

function rethrowUnlessEnded(reason: unknown): [] {
  const code =
    reason instanceof Error && "code" in reason ? reason.code : undefined;
  if (code === "ENOENT" || code === "ESRCH") return [];
  throw reason;
}

/**
 * Kills the processes below a process, and waits until it has been told of each
 * death.
 */
export async function killChildrenOf(pid: number): Promise<void> {
  const killed = childrenOf(pid);
  for (const child of killed) kill(child);
  while (childrenOf(pid).some((child) => killed.includes(child))) {
    await delay(20);
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (reason) {
    rethrowUnlessEnded(reason);
  }
}
