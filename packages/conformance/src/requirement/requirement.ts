import type { BindingName, ProtocolVersion } from "../binding/binding.ts";
import { Level } from "../protos.ts";

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
   * How binding it is: the keyword with which the source states it.
   *
   * Default: `MUST`.
   */
  readonly level?: Level;
  /**
   * Its level over the bindings where it is another one.
   *
   * Default: none.
   */
  readonly levelOver?: Readonly<Partial<Record<BindingName, Level>>>;
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

/**
 * Returns the level of a requirement over a binding. `binding` is empty for a
 * program.
 */
export function levelOf(
  { level = Level.MUST, levelOver = {} }: Requirement,
  binding: string,
): Level {
  const over: Readonly<Record<string, Level>> = levelOver;
  return over[binding] ?? level;
}
