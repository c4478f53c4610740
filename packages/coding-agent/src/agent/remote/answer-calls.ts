import { create } from "@bufbuild/protobuf";
import { canonicalJson } from "@devtool/internal/json";
import { NoticeSchema } from "@devtool/schema";
import { Code } from "@devtool/server/agent";
import type { ModelEvent, ModelToolCall } from "../model.ts";
import { readCallArguments } from "./answer-parts.ts";
import { brokenFault, ModelFault } from "./model-fault.ts";

/** The maximum number of calls in an answer. Fewer run in a step. */
const MAX_CALLS = 1000;

/** The maximum length of a tool's name, in characters. */
const MAX_NAME_LENGTH = 256;

/** A call as an API sends it. */
export interface ApiCall {
  /** The id of the call. Empty if the API gives none. */
  readonly id: string;
  readonly name: string;
  /** The arguments: a JSON object or its text. Null and "" are none. */
  readonly args: unknown;
  readonly signature?: Uint8Array | undefined;
}

/**
 * The calls of an answer. They are kept until the answer has ended well, so no
 * call of an answer that breaks off runs.
 */
export class AnswerCalls {
  readonly #calls: ModelToolCall[] = [];
  readonly #keys = new Set<string>();

  /** The number of calls so far. */
  get size(): number {
    return this.#calls.length;
  }

  /**
   * Adds a call. A call that comes twice under one id, with the same name and
   * arguments, is kept once.
   *
   * Throws a `ModelFault` for a call without a name or with one of more than
   * 256 characters, for arguments that are not a JSON object or have more than
   * 1 MiB, and for more than 1000 calls.
   */
  add({ id, name, args, signature }: ApiCall): void {
    if (typeof name !== "string") throw ModelFault.malformed();
    if (name === "") {
      const problem = "the model called a tool without a name";
      const remedy = "send the message again";
      throw new ModelFault(problem, Code.Unavailable, { remedy });
    }
    if (name.length > MAX_NAME_LENGTH) {
      const problem = `the model called a tool whose name has ${name.length} characters: limit is ${MAX_NAME_LENGTH}`;
      throw new ModelFault(problem, Code.ResourceExhausted);
    }
    const call = { name, args: readCallArguments(name, args) };
    // Some servers give different calls of an answer the same id.
    const key = canonicalJson([id, name, call.args]);
    if (id && this.#keys.has(key)) return;
    assertRoomForCall(this.#calls.length);
    this.#keys.add(key);
    this.#calls.push(signature ? { ...call, signature } : call);
  }

  /**
   * Returns the calls as events. Throws a `ModelFault` for an answer that has
   * neither calls nor text.
   */
  end(answer: { readonly hasText: boolean }): ModelEvent[] {
    if (!answer.hasText && this.#calls.length === 0) {
      const remedy = "say more, or choose another model";
      throw brokenFault(EMPTY_ANSWER, { remedy });
    }
    return this.#calls.map((value) => ({ case: "toolCall", value }));
  }
}

/** The problem of an answer without text and calls. */
export const EMPTY_ANSWER = "the model gave an empty answer";

/**
 * Throws a `ModelFault` when an answer with this number of calls may not have
 * another one.
 */
export function assertRoomForCall(count: number): void {
  if (count < MAX_CALLS) return;
  const problem = `the model's answer has more than ${MAX_CALLS} calls: limit is ${MAX_CALLS}`;
  throw new ModelFault(problem, Code.ResourceExhausted);
}

/**
 * The maximum size of all pieces that an answer's thoughts and calls are joined
 * from, in characters.
 */
const MAX_JOINED_CHARS = 4 * 1024 * 1024;

/**
 * Joins the pieces of calls' arguments and of thoughts, which are kept until
 * they are whole. One for each answer.
 */
export class BoundedJoiner {
  #chars = 0;

  /**
   * Returns the text with the piece at its end. Throws a `ModelFault` when the
   * pieces of the answer have more than 4 Mi characters together.
   */
  join(before: string, piece: string): string {
    if (typeof piece !== "string") throw ModelFault.malformed();
    this.#chars += piece.length;
    if (this.#chars > MAX_JOINED_CHARS) {
      const problem = `the thoughts and calls of the model's answer have more than ${MAX_JOINED_CHARS} characters: limit is ${MAX_JOINED_CHARS}`;
      throw new ModelFault(problem, Code.ResourceExhausted);
    }
    return before + piece;
  }
}

/**
 * Says once for each kind what an answer holds besides text, thoughts and
 * calls: nobody is shown it. One for each answer.
 */
export class LeftOutContent {
  readonly #kinds = new Set<string>();

  /**
   * Yields a notice. `kind` is the API's word: throws a `ModelFault` for none.
   */
  *add(kind: unknown): Iterable<ModelEvent> {
    if (typeof kind !== "string") throw ModelFault.malformed();
    if (this.#kinds.has(kind)) return;
    this.#kinds.add(kind);
    const text = `the model's answer holds ${JSON.stringify(kind)}, which is left out`;
    yield { case: "notice", value: create(NoticeSchema, { text }) };
  }
}

/**
 * Returns a field of an answer that is an object; undefined for none or null.
 * Throws a `ModelFault` for anything else: what it stands for would be lost.
 */
export function objectField<T>(value: T): (T & object) | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "object" || Array.isArray(value))
    throw ModelFault.malformed();
  return value;
}

/** Like `objectField`, for a list. Empty for none. */
export function listField<T>(value: readonly T[] | null | undefined): T[];
export function listField(value: unknown): unknown[];
export function listField(value: unknown): unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw ModelFault.malformed();
  return value;
}
