import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { isRunning, sendSignal } from "./process-state.ts";
import type { SandboxedCommand } from "./sandbox.ts";
import type { SpawnedCommand } from "./spawn-command.ts";

/** The time from SIGTERM to SIGKILL. */
const KILL_AFTER_MS = 2000;
/** How often to look whether they are gone. */
const LOOK_MS = 1;
/** The time that a supervisor has to start what it watches over. */
const START_MS = 200;

/** Ends what is left of a command: SIGTERM, then SIGKILL; returns when all of it that can be found is gone. */
export async function endProcess(
  { child, output, inner }: SpawnedCommand,
  { supervised }: Pick<SandboxedCommand, "supervised">,
  ended: Promise<unknown>,
): Promise<void> {
  const { pid } = child;
  if (pid === undefined) return;
  await (supervised ? endSupervised({ pid, inner }) : endGroup(pid, ended));
  await ended;
  output.destroy();
}

/** Waits until what a supervisor that has ended watched over is gone too: then nothing sees its mounts any more. */
export async function innerGone({ inner }: Pick<SpawnedCommand, "inner">): Promise<void> {
  await within(KILL_AFTER_MS, async (signal) => {
    const root = await inner;
    if (root !== undefined) await gone(root, signal);
  });
}

async function endGroup(pid: number, ended: Promise<unknown>): Promise<void> {
  if (!sendSignal(-pid, "SIGTERM")) return;
  await within(KILL_AFTER_MS, async (signal) => {
    await ended;
    while (sendSignal(-pid, 0)) await delay(LOOK_MS, undefined, { signal });
  });
  sendSignal(-pid, "SIGKILL");
}

interface Supervised {
  readonly pid: number;
  readonly inner: Promise<number | undefined>;
}

/** All end with the inner process: the kernel sees to that. It takes no notice of SIGTERM itself. */
async function endSupervised({ pid, inner }: Supervised): Promise<void> {
  const root = await within(KILL_AFTER_MS, () => inner);
  if (root === undefined) {
    sendSignal(pid, "SIGKILL");
    return;
  }
  await within(START_MS, async (signal) => {
    while (isRunning(root) && below(root).length === 0) await delay(LOOK_MS, undefined, { signal });
  });
  for (const process of below(root)) sendSignal(process, "SIGTERM");
  await within(KILL_AFTER_MS, (signal) => gone(root, signal));
  if (isRunning(root)) sendSignal(root, "SIGKILL");
  await within(KILL_AFTER_MS, (signal) => gone(root, signal));
}

async function gone(pid: number, signal: AbortSignal): Promise<void> {
  while (isRunning(pid)) await delay(LOOK_MS, undefined, { signal });
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

/** Waits for something with a timeout: its value, or undefined when it took longer. Nothing of it goes on afterwards. */
async function within<T>(ms: number, wait: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
  const stop = new AbortController();
  const late = delay(ms, undefined, { signal: stop.signal, ref: false });
  try {
    return await Promise.race([wait(stop.signal), late]);
  } finally {
    stop.abort();
    await late.catch(() => undefined);
  }
}
