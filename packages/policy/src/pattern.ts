import { RE2JS, RE2JSSyntaxException } from "re2js";
import { PolicyError } from "./policy-error.ts";

/** A text longer than this is not searched. */
export const MAX_SEARCHED_LENGTH: number = 64 * 1024;
const MAX_PATTERN_LENGTH = 512;
/** The maximum size of a compiled pattern, in instructions: with the length of the text it bounds the time of a search. */
const MAX_PROGRAM_SIZE = 500;

/** A pattern in the syntax of RE2, which is matched in time proportional to the text. */
export interface Pattern {
  /** Whether it matches a text; undefined for a text that is too long to search. */
  occursIn(text: string): boolean | undefined;
}

/**
 * Compiles a pattern that must match a part of a text, or the whole of it. Throws a `PolicyError` for one that is not
 * understood or too large.
 */
export function compilePattern(text: string, place: "part" | "whole" = "part"): Pattern {
  if (text.length > MAX_PATTERN_LENGTH)
    throw wrong(text.slice(0, 40), `has ${text.length} characters: the limit is ${MAX_PATTERN_LENGTH}`);
  const compiled = compile(text);
  if (compiled.programSize() > MAX_PROGRAM_SIZE) throw wrong(text, "is too large", "use lower counts");
  const matches = place === "part" ? compiled.test.bind(compiled) : compiled.testExact.bind(compiled);
  return { occursIn: (searched) => (searched.length > MAX_SEARCHED_LENGTH ? undefined : matches(searched)) };
}

function compile(text: string): RE2JS {
  try {
    return RE2JS.compile(text);
  } catch (reason) {
    if (!(reason instanceof RE2JSSyntaxException)) throw reason;
    throw wrong(text, `is not in RE2's syntax: ${reason.message.replace("error parsing regexp: ", "")}`);
  }
}

function wrong(pattern: string, problem: string, remedy = ""): PolicyError {
  return new PolicyError(`pattern ${JSON.stringify(pattern)} ${problem}`, "invalid", { remedy });
}
