import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { signalGroup } from "@devtool/internal/process-group";
import { isRunning, sendSignal } from "./process-state.ts";
import type { SandboxedCommand } from "./sandbox.ts";
import type { SpawnedCommand } from "./spawn-command.ts";

/** Time from SIGTERM to SIGKILL in milliseconds. */
const KILL_AFTER_MS = 2000;
/**
 * Interval between two checks whether processes have ended, in milliseconds.
 */
const LOOK_MS = 1;
/**
 * The maximum time in which a supervisor starts the program, in milliseconds.
 */
const START_MS = 200;

/**
 * Ends what is left of a command with SIGTERM, then SIGKILL. Resolves when all
 * of its processes that can be found have ended.
 */
export async function endProcess(
  { child, output, inner }: SpawnedCommand,
  { supervised }: Pick<SandboxedCommand, "supervised">,
  ended: Promise<unknown>,
): Promise<void> {
  const { pid } = child;
  if (pid === undefined) return;
  if (supervised) {
    await endSupervised(pid, inner);
  } else if (signalGroup(child, "SIGTERM")) {
    await within(KILL_AFTER_MS, async (signal) => {
      await ended;
      while (signalGroup(child, 0)) await delay(LOOK_MS, undefined, { signal });
    });
    signalGroup(child, "SIGKILL");
  }
  await ended;
  output.destroy();
}

/**
 * Waits until all processes below a supervisor that has ended are gone, and its
 * mounts with them.
 */
export async function innerGone({
  inner,
}: Pick<SpawnedCommand, "inner">): Promise<void> {
  await within(KILL_AFTER_MS, async (signal) => {
    const root = await inner;
    if (root !== undefined) await gone(root, signal);
  });
}

/**
 * Ends the processes below a supervisor. The kernel ends all of them with the
 * inner process, which ignores SIGTERM itself.
 */
async function endSupervised(
  pid: number,
  inner: Promise<number | undefined>,
): Promise<void> {
  const root = await within(KILL_AFTER_MS, () => inner);
  if (root === undefined) {
    sendSignal(pid, "SIGKILL");
    return;
  }
  await within(START_MS, async (signal) => {
    while (isRunning(root) && below(root).length === 0) {
      await delay(LOOK_MS, undefined, { signal });
    }
  });
  for (const process of below(root)) sendSignal(process, "SIGTERM");
  await within(KILL_AFTER_MS, (signal) => gone(root, signal));
  if (isRunning(root)) sendSignal(root, "SIGKILL");
  await within(KILL_AFTER_MS, (signal) => gone(root, signal));
}

async function gone(pid: number, signal: AbortSignal): Promise<void> {
  while (isRunning(pid)) await delay(LOOK_MS, undefined, { signal });
}

/** Lists the descendants of a process, nearest first. */
function below(pid: number): number[] {
  try {
    const listed = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
    const children = listed.split(" ").filter(Boolean).map(Number);
    return [...children, ...children.flatMap(below)];
  } catch {
    return [];
  }
}

/**
 * Waits with a timeout: returns the value, or undefined when it took longer.
 * The signal aborts at the end in either case.
 */
async function within<T>(
  ms: number,
  wait: (signal: AbortSignal) => Promise<T>,
): Promise<T | undefined> {
  const stop = new AbortController();
  const late = delay(ms, undefined, { signal: stop.signal, ref: false });
  try {
    return await Promise.race([wait(stop.signal), late]);
  } finally {
    stop.abort();
    await late.catch(() => undefined);
  }
}
