import type { ToolCallConfirmation } from "@devtool/schema";

/** The questions of one task that wait for an answer: where the tool scheduler waits and the session delivers. */
export class Confirmations {
  readonly #open = new Map<string, PromiseWithResolvers<ToolCallConfirmation>>();

  /** Opens the question of a call. Must come before the call is published, or a fast answer is lost. */
  open(toolCallId: string): void {
    if (!this.#open.has(toolCallId)) this.#open.set(toolCallId, Promise.withResolvers());
  }

  /** Waits for the answer to a question that was opened. Rejects with the signal's reason when it aborts. */
  async wait(toolCallId: string, signal: AbortSignal): Promise<ToolCallConfirmation> {
    signal.throwIfAborted();
    const question = this.#open.get(toolCallId) ?? Promise.withResolvers<ToolCallConfirmation>();
    this.#open.set(toolCallId, question);
    const abort = (): void => question.reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    try {
      return await question.promise;
    } finally {
      signal.removeEventListener("abort", abort);
      this.#open.delete(toolCallId);
    }
  }

  /** Delivers an answer that the log holds. One to a question that nobody waits for is dropped: the log has it. */
  answer(confirmation: ToolCallConfirmation): void {
    this.#open.get(confirmation.toolCallId)?.resolve(confirmation);
  }
}
