import type { Answer, Question } from "@devtool/coding-agent/tool";

/** What a server may do to a call of it that runs. */
export interface CallHooks {
  /** Tells how far the call has come; `total` is 0 when unknown. */
  progress(done: number, total: number, text: string): void;
  /** Asks the user. Rejects when the call ends before they answer. */
  ask(question: Question): Promise<Answer>;
}
