import { abortable } from "@devtool/internal/abortable";
import type { ToolCallConfirmation } from "@devtool/schema";

/**
 * The open questions of one task: the agent waits for answers, and the open
 * task delivers them.
 *
 * `open` must be called before the tool call is published. Otherwise an answer
 * that arrives between publishing and `wait` is lost.
 */
export class Confirmations {
  readonly #open = new Map<
    string,
    PromiseWithResolvers<ToolCallConfirmation>
  >();

  /**
   * Opens the question of a tool call; does nothing when it is open already.
   */
  open(toolCallId: string): void {
    if (!this.#open.has(toolCallId)) {
      this.#open.set(toolCallId, Promise.withResolvers());
    }
  }

  /**
   * Waits for the answer to the question of a tool call, and closes the
   * question. Rejects with the signal's reason when the signal aborts.
   */
  async wait(
    toolCallId: string,
    signal: AbortSignal,
  ): Promise<ToolCallConfirmation> {
    signal.throwIfAborted();
    const question =
      this.#open.get(toolCallId) ??
      Promise.withResolvers<ToolCallConfirmation>();
    this.#open.set(toolCallId, question);
    try {
      return await abortable(question.promise, signal);
    } finally {
      this.#open.delete(toolCallId);
    }
  }

  /**
   * Delivers an answer that the task's log holds. Ignores an answer to a
   * question that is not open.
   */
  answer(confirmation: ToolCallConfirmation): void {
    this.#open.get(confirmation.toolCallId)?.resolve(confirmation);
  }
}
