import type { CaseResult } from "../play/case-result.ts";
import type { KnownFailing } from "../protos.ts";
import type { ReportSubject } from "../report/create-report.ts";

/** A run of a conformance suite against a subject. */
export interface Play {
  /** The name of the suite, such as `A2A 1.0 server`. */
  readonly suite: string;
  readonly subject: ReportSubject;
  /** The cases that may fail, if they are known. */
  readonly known?: KnownFailing;
  /** What to know before the results: what is left out, and why. */
  readonly notes: readonly string[];
  /** Runs the cases. May be iterated once. */
  readonly results: AsyncIterable<CaseResult>;
}
