import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { SandboxedCommand } from "../sandbox/sandbox.ts";
import type { SpawnedCommand } from "../sandbox/spawn-command.ts";

/** Processes have so long to end after SIGTERM before they get SIGKILL. */
const KILL_AFTER_MS = 2000;
/** How often to look whether they are gone. */
const LOOK_MS = 20;
/** A supervisor has so long to start what it watches over. */
const START_MS = 200;

/** Ends what is left of a command: SIGTERM, then SIGKILL; returns when its leader is gone and the rest was killed. */
export async function endProcess(
  { child, output }: SpawnedCommand,
  { supervised }: Pick<SandboxedCommand, "supervised">,
  ended: Promise<unknown>,
): Promise<void> {
  const { pid } = child;
  if (pid === undefined || (supervised && (child.exitCode ?? child.signalCode) !== null)) return;
  await (supervised ? endSupervised(pid, ended) : endGroup(pid, ended));
  await ended;
  output.destroy();
}

async function endGroup(pid: number, ended: Promise<unknown>): Promise<void> {
  if (!send(-pid, "SIGTERM")) return;
  await within(KILL_AFTER_MS, async (signal) => {
    await ended;
    while (send(-pid, 0)) await delay(LOOK_MS, undefined, { signal });
  });
  send(-pid, "SIGKILL");
}

/** The supervisor ends by itself once nothing is left below it, so it is the last to be killed, and only when it is alone. */
async function endSupervised(pid: number, ended: Promise<unknown>): Promise<void> {
  await within(START_MS, async (signal) => {
    while (below(pid).length < 2 && send(pid, 0)) await delay(LOOK_MS, undefined, { signal });
  });
  for (const process of below(pid)) send(process, "SIGTERM");
  await within(KILL_AFTER_MS, () => ended);
  const left = below(pid);
  for (const process of left.length > 0 ? left : [pid]) send(process, "SIGKILL");
}

/** The processes below one, nearest first; reads what Linux tells of it. */
function below(pid: number): number[] {
  const children = childrenOf(pid);
  return [...children, ...children.flatMap(below)];
}

function childrenOf(pid: number): number[] {
  try {
    const listed = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
    return listed.split(" ").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/** Waits for something, at most so long; nothing of it goes on afterwards. */
async function within(ms: number, wait: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
  const stop = new AbortController();
  const late = delay(ms, undefined, { signal: stop.signal, ref: false });
  await Promise.race([wait(stop.signal), late]).catch(() => undefined);
  stop.abort();
  await late.catch(() => undefined);
}

/** Sends a signal to a process, or to a group when the number is negative; false when there is none. */
function send(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch {
    return false;
  }
}
