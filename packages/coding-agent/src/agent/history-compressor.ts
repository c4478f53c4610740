import { create } from "@bufbuild/protobuf";
import { type Message, NoticeSchema, type Usage } from "@devtool/schema";
import type { AgentEvent } from "@devtool/server/agent";
import { clientError } from "../client-error.ts";
import { compress, needsCompression } from "./compress.ts";
import type { ModelEvent, StepRequest, StepSource } from "./model.ts";

/**
 * Summarizes the history of a task when it approaches the model's input limit,
 * at most once per turn.
 */
export class HistoryCompressor {
  readonly #source: StepSource;
  readonly #taskId: string;
  readonly #onNotice: (text: string) => void;
  /** The usage of the last step. */
  #used: Usage | undefined;
  #hasRun = false;

  /** `onNotice` receives notices for the operator, as plain text. */
  constructor(
    source: StepSource,
    taskId: string,
    onNotice: (text: string) => void,
  ) {
    this.#source = source;
    this.#taskId = taskId;
    this.#onNotice = onNotice;
  }

  /** Records the usage that a step reports. Ignores other events. */
  recordUsage(event: ModelEvent): void {
    if (event.case === "usage") this.#used = event.value;
  }

  /**
   * Returns whether a history is close to the model's input limit. False once
   * compression was attempted in this turn.
   */
  isNeeded(history: readonly Message[]): boolean {
    return (
      !this.#hasRun &&
      needsCompression(history, this.#used, this.#source.maxInputTokens)
    );
  }

  /**
   * Summarizes the older part of a history. A failure of the model becomes a
   * notice for the user.
   */
  async *compress(
    request: StepRequest,
    signal: AbortSignal,
  ): AsyncIterable<AgentEvent> {
    this.#hasRun = true;
    try {
      const summary = await compress(this.#source, request, signal);
      if (summary) yield { case: "summary", value: summary };
    } catch (reason) {
      signal.throwIfAborted();
      const { message } = clientError(
        reason,
        "a summary",
        { task: this.#taskId },
        this.#onNotice,
      );
      const text = `the conversation is long and could not be summarized: ${message}`;
      yield { case: "notice", value: create(NoticeSchema, { text }) };
    }
  }
}
