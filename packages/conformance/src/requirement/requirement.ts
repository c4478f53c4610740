import type { ProtocolVersion } from "../binding/binding.ts";

/**
 * Something that a server or a client must do.
 */
export interface Requirement {
  /**
   * The required behaviour, in one line.
   */
  readonly behaviour: string;
  /**
   * The section of the RFC or of A2A that requires it. `own` where both leave
   * it open and docs/wire.md decides.
   */
  readonly source: string;
  /**
   * The version of A2A that it belongs to. Absent if it holds in each.
   */
  readonly protocolVersion?: ProtocolVersion;
  /**
   * The suite that shows it.
   *
   * Default: `server`.
   */
  readonly mode?: "server" | "push" | "client" | "resume";
  /**
   * Why no case of the server suites tests the requirement. Every other
   * requirement has a case.
   */
  readonly untestedBecause?: string;
}
