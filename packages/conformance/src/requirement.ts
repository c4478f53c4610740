import type { ProtocolVersion } from "./binding/binding.ts";

/** Where a requirement is from, and what shows that it is met. */
export interface Requirement {
  /** What a server or client must do, in a line. */
  readonly behaviour: string;
  /** The section of the RFC or of A2A that asks for it; `own` where both leave it open and we chose. */
  readonly source: string;
  /** The version of A2A that it is about; left out for what holds in each. */
  readonly protocolVersion?: ProtocolVersion;
  /** What shows it: a suite that plays the client (`server`, the default) or one that plays the server's other parts. */
  readonly mode?: "server" | "push" | "client" | "resume";
  /** Why no case of the server suites tests it. A requirement without this has a case. */
  readonly owed?: string;
}
