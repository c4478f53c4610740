import { readFileSync } from "node:fs";
import { endedMs, familyMs } from "./subject.ts";

/**
 * Begins to watch how much of the processors' time goes to others: to other
 * machines on the same processors (`steal` of proc(5)), and to processes of this
 * one that this process has not started. What it gives says it in words: figures
 * of two runs compare where it was about the same.
 */
export function watchStolenTime(): () => string {
  const before = processorTimes();
  const oursBefore = ownMs();
  return () => {
    const after = processorTimes();
    const all = after.all - before.all;
    const used = after.used - before.used - (ownMs() - oursBefore) / TICK_MS;
    const share = Math.max(0, used / all) * 100;
    return `${share.toFixed(1)} % of the processors' time went to others`;
  };
}

/** Processor time of this process and all that it started, ended or not. */
function ownMs(): number {
  return familyMs() + endedMs();
}

/** What proc(5) counts in, in milliseconds. */
const TICK_MS = 10;

/** Ticks of all processors since the start, and those that were not idle. */
function processorTimes(): { readonly all: number; readonly used: number } {
  const [line = ""] = readFileSync("/proc/stat", "utf8").split("\n", 1);
  // Further fields are a part of user and nice.
  const [user = 0, nice = 0, system = 0, idle = 0, iowait = 0, ...rest] = line
    .trim()
    .split(/\s+/)
    .slice(1, 9)
    .map(Number);
  const used = rest.reduce((sum, ticks) => sum + ticks, user + nice + system);
  return { all: used + idle + iowait, used };
}
