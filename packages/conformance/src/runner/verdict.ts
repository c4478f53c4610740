import { type CaseResult, elapsedMs } from "../play/case-result.ts";

/**
 * What a suite finds out about one case.
 */
export type Verdict = Pick<
  CaseResult,
  "status" | "reason" | "failures" | "exchanges"
>;

/**
 * The verdict on a case without a failure.
 */
export const PASSED: Verdict = { status: "passed" };

/**
 * Returns the verdict on work that a program does not support.
 */
export function skipUnsupported(what: string): Verdict {
  return {
    status: "skipped",
    reason: `the program does not support it: ${what}`,
  };
}

/**
 * Runs a case and returns its result. A case that throws has failed.
 */
export async function runCase(
  id: string,
  requirements: readonly string[],
  run: () => Promise<Verdict>,
): Promise<CaseResult> {
  const start = performance.now();
  const verdict = await run().catch(
    (cause: unknown): Verdict => ({
      status: "failed",
      reason: describeFailure(cause),
    }),
  );
  return { id, requirements, ...verdict, durationMs: elapsedMs(start) };
}

/**
 * Describes why a program gave no answer.
 */
export function describeFailure(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  return cause.name === "TimeoutError"
    ? "the program did not answer within the time limit (--timeout); its standard output may have nothing but its responses, each after its length"
    : cause.message;
}
