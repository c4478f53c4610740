import type { Ground } from "./ground.ts";

/** An attempt to get out of the sandbox. */
export interface Escape {
  readonly name: string;
  /**
   * The command line to run. It prints the canary, or `OUT`, when it got out.
   */
  readonly command: (ground: Ground) => string;
  /** Looks from outside whether it got out. */
  readonly got?: (ground: Ground) => boolean | Promise<boolean>;
  /** Prepares the ground for it. */
  readonly before?: (ground: Ground) => Promise<void>;
  /**
   * Needs privileges or a kernel that not every machine has: it may fail
   * without a sandbox too.
   */
  readonly rare?: true;
}

/** Prints `OUT`, without that word in the command's own text. */
export const OUT = 'echo "O""UT"';
