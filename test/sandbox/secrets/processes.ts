import { readdirSync, readFileSync } from "node:fs";
import type { Sink } from "./leaks.ts";

/**
 * The processes that a process started, with those that they started: what each
 * was started with, as anybody of the same user can read it.
 */
export function descendantsOf(pid: number): Sink[] {
  const children = Map.groupBy(allProcesses(), ({ parent }) => parent);
  const found: Sink[] = [];
  const queue = [pid];
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    for (const child of children.get(next) ?? []) {
      queue.push(child.pid);
      const command = readOf(child.pid, "cmdline");
      const name = command.includes("leaky-mcp-server")
        ? "child: its own server"
        : "child";
      found.push({ name, text: `${command}\n${readOf(child.pid, "environ")}` });
    }
  }
  return found;
}

function allProcesses(): { readonly pid: number; readonly parent: number }[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ({
      pid: Number(name),
      parent: Number(
        /^PPid:\s+(\d+)/m.exec(readOf(Number(name), "status"))?.[1],
      ),
    }));
}

/** Empty for a process that is gone, or that nobody can look into. */
function readOf(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}
