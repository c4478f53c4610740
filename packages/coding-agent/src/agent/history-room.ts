import type { Message, Usage } from "@devtool/schema";
import type { AgentEvent } from "@devtool/server/agent";
import { clientError } from "../tool/hidden-fault.ts";
import { compress, needsCompression } from "./compress.ts";
import type { Model, ModelEvent, ModelRequest } from "./model.ts";
import { noticeOf } from "./notice.ts";

/** Who is told of a summary that failed. */
export interface HistoryRoomOptions {
  /** The id of the task. */
  readonly task: string;
  /** Takes what the operator should know, in words. */
  readonly onNotice: (text: string) => void;
}

/** The room that a model has for a history, in one turn. */
export class HistoryRoom {
  readonly #model: Model;
  readonly #told: HistoryRoomOptions;
  #used: Usage | undefined;
  #tried = false;

  constructor(model: Model, told: HistoryRoomOptions) {
    this.#model = model;
    this.#told = told;
  }

  /** Takes note of what a step used. */
  note(event: ModelEvent): void {
    if (event.case === "usage") this.#used = event.value;
  }

  /** Tells whether a history comes near to what the model can be asked with. What could not be helped once will not be. */
  isScarce(history: readonly Message[]): boolean {
    return !this.#tried && needsCompression(history, this.#used, this.#model.maxInputTokens);
  }

  /** Summarizes the older part of a history. */
  async *make(request: ModelRequest, signal: AbortSignal): AsyncIterable<AgentEvent> {
    this.#tried = true;
    try {
      const { summary, usage } = await compress(this.#model, request, signal);
      if (usage) yield { case: "usage", value: usage };
      if (summary) yield { case: "summary", value: summary };
    } catch (reason) {
      signal.throwIfAborted();
      const { task, onNotice } = this.#told;
      const { message } = clientError(reason, { what: "a summary", place: { task }, onNotice });
      yield noticeOf(`the conversation is long and could not be summarized: ${message}`);
    }
  }
}
