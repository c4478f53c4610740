import type { Answer, Question } from "@devtool/coding-agent/tool";

/**
 * The effects that a server may have on one of its calls while the call runs.
 */
export interface CallHooks {
  /** Reports progress. `total` is 0 when it is unknown; `text` may be empty. */
  progress(done: number, total: number, text: string): void;
  /**
   * Asks the user. Rejects when the call ends or `withdrawn` aborts before the
   * user answers: the user is not asked any longer.
   */
  ask(question: Question, withdrawn: AbortSignal): Promise<Answer>;
}
