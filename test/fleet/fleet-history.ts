import type { TaskEvent } from "@devtool/schema";
import { type CrashReport, checkCrash } from "../durability/crash/check.ts";
import { Witness } from "../durability/crash/workload.ts";

/** What clients of a fleet saw, through whichever servers. */
export class FleetHistory {
  readonly witness = new Witness();
  /** The sequences that each reader got, over all its connections. */
  readonly readers: bigint[][] = [];
  /** The sequences that each connection carried. */
  readonly connections: bigint[][] = [];
  /** How many connections were lost while a reader had not read all. */
  resumed = 0;
}

/**
 * What is wrong with a fleet; `gaps` and the counts of `CrashReport` are zero
 * when nothing is.
 */
export interface FleetReport extends CrashReport {
  /**
   * Streams that left an event out, or had one twice or out of order: those of
   * readers, and those of single connections.
   */
  readonly gaps: number;
  readonly resumed: number;
}

/**
 * Compares what clients saw with the logs and with what the tools really did.
 */
export function checkFleet(
  history: FleetHistory,
  logs: ReadonlyMap<string, readonly TaskEvent[]>,
  effects: readonly string[],
): FleetReport {
  const { witness, readers, connections, resumed } = history;
  const gaps = [...readers, ...connections].filter(
    (sequences) => !isConsecutive(sequences),
  ).length;
  return { ...checkCrash(witness, logs, effects), gaps, resumed };
}

function isConsecutive(sequences: readonly bigint[]): boolean {
  return sequences.every(
    (sequence, index) =>
      index === 0 || sequence === (sequences[index - 1] ?? 0n) + 1n,
  );
}
