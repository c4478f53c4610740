import { readFileSync } from "node:fs";

/**
 * Begins to watch how much of the processors' time goes to other users of a
 * shared machine (`steal` of proc(5)). What it gives says it in words: figures
 * of two runs compare where it was about the same.
 */
export function watchStolenTime(): () => string {
  const before = processorTimes();
  return () => {
    const spent = processorTimes().map(
      (ticks, index) => ticks - (before[index] ?? 0),
    );
    const all = spent.reduce((sum, ticks) => sum + ticks, 0);
    return `${(((spent[STEAL] ?? 0) / all) * 100).toFixed(1)} % of the processors' time went to others`;
  };
}

/**
 * Where `steal` stands behind user, nice, system, idle, iowait, irq and
 * softirq.
 */
const STEAL = 7;

function processorTimes(): number[] {
  const [line = ""] = readFileSync("/proc/stat", "utf8").split("\n", 1);
  return line.trim().split(/\s+/).slice(1, 9).map(Number);
}
