/** What became of a case. */
export interface CaseResult {
  readonly id: string;
  /** The requirements that the case tests. */
  readonly requirements: readonly string[];
  readonly status: "passed" | "failed" | "skipped";
  /** Why it failed or was skipped. */
  readonly reason?: string;
  readonly durationMs: number;
}
