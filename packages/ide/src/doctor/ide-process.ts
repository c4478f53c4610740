import { readFileSync } from "node:fs";
import { basename } from "node:path";
import type { Environment } from "../discovery/places.ts";

const SHELLS = ["zsh", "bash", "sh", "tcsh", "csh", "ksh", "fish", "dash"];

/**
 * Returns the process that Gemini CLI takes for the editor when it is started
 * where this process is: the grandparent of the nearest shell, or else the top
 * of the tree. `GEMINI_CLI_IDE_PID` says otherwise. Undefined where processes
 * cannot be read, which is everywhere but on Linux.
 */
export function ideProcess(env: Environment, from: number): number | undefined {
  const given = Number(env.GEMINI_CLI_IDE_PID);
  if (given > 0) return given;
  let pid = from;
  for (let depth = 0; depth < 32; depth++) {
    const parent = parentOf(pid);
    if (parent === undefined) return undefined;
    if (SHELLS.includes(nameOf(pid))) {
      const above = parentOf(parent) ?? 0;
      return above > 1 ? above : parent;
    }
    if (parent <= 1) return pid;
    pid = parent;
  }
  return pid;
}

function parentOf(pid: number): number | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    return Number(/^PPid:\s*(\d+)$/m.exec(status)?.[1]);
  } catch {
    return undefined;
  }
}

function nameOf(pid: number): string {
  try {
    const [program = ""] = readFileSync(`/proc/${pid}/cmdline`, "utf8").split(
      "\0",
    );
    return basename(program.split(" ")[0] ?? "");
  } catch {
    return "";
  }
}
