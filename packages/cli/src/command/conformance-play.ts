import type { CaseResult, ReportSubject } from "@devtool/conformance";
import type { KnownFailing } from "@devtool/schema/conformance";

/** What `devtool conformance` plays, and with whom. */
export interface Play {
  /** Names what is played, for instance `A2A 1.0 server`. */
  readonly suite: string;
  readonly subject: ReportSubject;
  /** Which cases may fail; left out when nobody said. */
  readonly known?: KnownFailing;
  /** Plays the cases; may be read once. */
  readonly results: AsyncIterable<CaseResult>;
}
