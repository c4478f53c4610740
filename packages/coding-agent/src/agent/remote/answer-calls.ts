import { Code } from "@devtool/server/agent";
import type { ModelEvent, ModelToolCall } from "../model.ts";
import { readArguments } from "./answer-parts.ts";
import { ModelFault } from "./model-fault.ts";

/** A call as an API sends it. */
export interface ApiCall {
  /** The id of the call. Empty if the API gives none. */
  readonly id: string;
  readonly name: string;
  /** The arguments: a JSON object as text. */
  readonly argumentsText: string;
  readonly signature?: Uint8Array | undefined;
}

/** The calls of an answer. They are kept until the answer has ended well, so no call of an answer that breaks off runs. */
export class AnswerCalls {
  readonly #calls: ModelToolCall[] = [];
  readonly #ids = new Set<string>();

  get size(): number {
    return this.#calls.length;
  }

  /** Adds a call. A call that comes twice under one id is kept once. Throws a `ModelFault` for a call that cannot be used. */
  add({ id, name, argumentsText, signature }: ApiCall): void {
    if (name === "") {
      const remedy = "send the message again";
      throw new ModelFault("the model called a tool without a name", Code.Unavailable, { remedy });
    }
    if (id !== "" && this.#ids.has(id)) return;
    this.#ids.add(id);
    const call = { name, args: readArguments(name, argumentsText) };
    this.#calls.push(signature ? { ...call, signature } : call);
  }

  /** Returns the calls as events. Throws a `ModelFault` for an answer that has neither calls nor text. */
  end(answer: { readonly hasText: boolean }): ModelEvent[] {
    if (!answer.hasText && this.#calls.length === 0) {
      const remedy = "say more, or choose another model";
      throw new ModelFault("the model gave an empty answer", Code.Unavailable, { remedy, retriable: true });
    }
    return this.#calls.map((value) => ({ case: "toolCall", value }));
  }
}

/** The maximum size of a text that is joined from pieces before it is used, in characters. */
const MAX_JOINED_CHARS = 4 * 1024 * 1024;

/** Joins pieces of a call's arguments or of a thought. Throws a `ModelFault` when they become too large. */
export function joinPiece(before: string, piece: string): string {
  if (before.length + piece.length > MAX_JOINED_CHARS) {
    const problem = `a part of the model's answer has more than ${MAX_JOINED_CHARS} characters: limit is ${MAX_JOINED_CHARS}`;
    throw new ModelFault(problem, Code.ResourceExhausted);
  }
  return before + piece;
}

/** Returns the fault for an answer that ended before the API said that it was whole. */
export function interruptedFault(): ModelFault {
  const remedy = "send the message again";
  return new ModelFault("the model's answer ended in the middle", Code.Unavailable, { remedy, retriable: true });
}
