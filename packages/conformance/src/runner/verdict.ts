import { type CaseResult, elapsedMs } from "../play/case-result.ts";

/**
 * What a suite finds out about one case.
 */
export type Verdict = Pick<CaseResult, "status" | "reason" | "exchanges">;

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
    (cause: unknown): Verdict => ({ status: "failed", reason: String(cause) }),
  );
  return { id, requirements, ...verdict, durationMs: elapsedMs(start) };
}
