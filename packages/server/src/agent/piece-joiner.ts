import { create } from "@bufbuild/protobuf";
import { AgentThoughtSchema } from "@devtool/schema";
import type { AgentEvent } from "./agent-executor.ts";

/** A piece of an agent's answer, or of a thought. */
type Piece = Extract<AgentEvent, { readonly case: "text" | "thought" }>;

/**
 * Joins a character that two neighbouring pieces of an answer or of a thought
 * share. Halves of characters (surrogates) that have no other half become
 * U+FFFD.
 */
export class PieceJoiner {
  #half = "";
  #case: Piece["case"] = "text";

  /**
   * Returns the pieces that are whole with a further one. Its last half is kept
   * for the next piece.
   */
  add(piece: Piece): Piece[] {
    // A subject begins another thought.
    const isThought = piece.case === "thought";
    const begins = isThought && piece.value.subject !== "";
    const before = begins || piece.case !== this.#case ? this.rest() : [];
    const text =
      this.#half + (isThought ? piece.value.description : piece.value);
    this.#half = /[\ud800-\udbff]$/.exec(text)?.[0] ?? "";
    this.#case = piece.case;
    const whole = text.slice(0, text.length - this.#half.length).toWellFormed();
    if (whole === "" && this.#half !== "" && !begins) return before;
    return isThought
      ? [...before, thought({ ...piece.value, description: whole })]
      : [...before, { case: "text", value: whole }];
  }

  /** Returns a piece for half a character whose other half did not come. */
  rest(): Piece[] {
    if (this.#half === "") return [];
    this.#half = "";
    const text = "\ufffd";
    return this.#case === "text"
      ? [{ case: "text", value: text }]
      : [thought({ subject: "", description: text })];
  }
}

function thought(value: { subject: string; description: string }): Piece {
  return { case: "thought", value: create(AgentThoughtSchema, value) };
}
