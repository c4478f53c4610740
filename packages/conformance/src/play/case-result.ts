import type { ExchangeRecord } from "../protos.ts";

/**
 * The result of a case.
 */
export interface CaseResult {
  /**
   * The id of the case in its suite, for instance `a2a/push-later`. Lists of
   * known failures name it.
   */
  readonly id: string;
  /**
   * The ids of the requirements that the case tests.
   */
  readonly requirements: readonly string[];
  readonly status: "passed" | "failed" | "skipped";
  /**
   * Why the case failed or was skipped, with a line for each failure. Absent if
   * it passed.
   */
  readonly reason?: string;
  /**
   * What is allowed, but that a client would trip over. Absent without any.
   */
  readonly warnings?: readonly string[];
  /**
   * How long the case took, in whole milliseconds.
   */
  readonly durationMs: number;
  /**
   * The single failures. Absent in suites that report only one reason.
   */
  readonly failures?: readonly CaseFailure[];
  /**
   * The requests and answers of a case that failed over the wire.
   */
  readonly exchanges?: readonly ExchangeRecord[];
}

/**
 * One failure of a case.
 */
export interface CaseFailure {
  /**
   * The ids of the requirements that are not met.
   */
  readonly requirements: readonly string[];
  /**
   * The number of the step, from 1. 0 stands for the whole case.
   */
  readonly step: number;
  readonly reason: string;
  /**
   * If two requirements contradict each other: the one that the server follows
   * instead, and why.
   */
  readonly reading?: string;
}

/** The outcome of a case. It passed if it has neither. */
export interface CaseOutcome {
  readonly failures: readonly CaseFailure[];
  /**
   * What is allowed, but that a client would trip over.
   */
  readonly warnings?: readonly string[];
  /**
   * Why the agent cannot be asked the rest of the case.
   */
  readonly skipped?: string;
}

/** Creates the result of a case that was played. */
export function resultOfCase(
  { id, requirements }: Pick<CaseResult, "id" | "requirements">,
  durationMs: number,
  { failures, warnings = [], skipped }: CaseOutcome,
  exchanges: readonly ExchangeRecord[],
): CaseResult {
  const found = warnings.length === 0 ? {} : { warnings };
  if (failures.length === 0 && skipped !== undefined) {
    const why = { status: "skipped", reason: skipped } as const;
    return { id, requirements, ...why, durationMs, ...found };
  }
  if (failures.length === 0) {
    return { id, requirements, status: "passed", durationMs, ...found };
  }
  const reason = failures.map((failure) => failure.reason).join("\n");
  return {
    id,
    requirements,
    status: "failed",
    reason,
    durationMs,
    ...found,
    failures,
    exchanges,
  };
}

/**
 * Returns the whole milliseconds since `start`, a time of `performance.now()`.
 */
export function elapsedMs(start: number): number {
  return Math.round(performance.now() - start);
}
