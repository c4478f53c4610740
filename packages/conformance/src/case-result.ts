import type { ExchangeRecord } from "@devtool/schema/conformance";

/** What became of a case. */
export interface CaseResult {
  readonly id: string;
  /** The requirements that the case tests. */
  readonly requirements: readonly string[];
  readonly status: "passed" | "failed" | "skipped";
  /** Why it failed or was skipped. */
  readonly reason?: string;
  readonly durationMs: number;
  /** What was not as it must be, one by one; left out by suites that have but one reason. */
  readonly failures?: readonly CaseFailure[];
  /** What was sent and what came back, when it failed over the wire. */
  readonly exchanges?: readonly ExchangeRecord[];
}

/** One thing that was not as it must be. */
export interface CaseFailure {
  /** The requirements that are not met. */
  readonly requirements: readonly string[];
  /** Counts the steps of the case from 1. */
  readonly step: number;
  readonly reason: string;
  /** The requirement that the answer follows instead, and why, where two contradict each other. */
  readonly reading?: string;
}
