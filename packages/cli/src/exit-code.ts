/** The exit codes of the command. */
export const ExitCode = {
  OK: 0,
  /** The task, or the command itself, failed. */
  FAILED: 1,
  /** The command line is invalid. */
  USAGE: 2,
  /**
   * The agent asked and nobody could answer: the task waits for input, or the
   * call was declined.
   */
  INPUT_REQUIRED: 3,
  /** The task was canceled. */
  CANCELED: 130,
  /**
   * The reader closed standard output early; shells report 128 + SIGPIPE for
   * that.
   */
  OUTPUT_CLOSED: 141,
} as const;
