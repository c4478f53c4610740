import { keepStart } from "@devtool/internal/cut-text";
import { RE2JS, RE2JSSyntaxException } from "re2js";
import { PolicyError } from "./policy-error.ts";

/** The maximum length of a text that is searched, in UTF-16 code units. */
export const MAX_SEARCHED_LENGTH: number = 64 * 1024;
const MAX_PATTERN_LENGTH = 512;
/**
 * The maximum number of instructions of a compiled pattern. Together with the
 * length of the text it bounds the time of a search.
 */
const MAX_PROGRAM_SIZE = 500;

/**
 * A compiled regular expression in RE2's syntax.
 *
 * Matching takes time proportional to the length of the text, so no pattern of
 * a rule can hang the process.
 */
export interface Pattern {
  /**
   * Returns whether the pattern matches a text; undefined for a text that is
   * too long to search.
   */
  occursIn(text: string): boolean | undefined;
}

/**
 * Compiles a pattern that must match some part of a text (the default) or the
 * whole text. `dot` says whether `.` also matches a line break; default: it does
 * not.
 *
 * Throws a `PolicyError` for a pattern that is too long, is not in RE2's
 * syntax, or compiles to too many instructions.
 */
export function compilePattern(
  text: string,
  extent: "part" | "whole" = "part",
  dot: "in a line" | "anything" = "in a line",
): Pattern {
  if (text.length > MAX_PATTERN_LENGTH) {
    throw patternError(
      keepStart(text, 40),
      `has ${text.length} characters: the limit is ${MAX_PATTERN_LENGTH}`,
    );
  }
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(text, dot === "anything" ? RE2JS.DOTALL : 0);
  } catch (reason) {
    if (!(reason instanceof RE2JSSyntaxException)) throw reason;
    throw patternError(
      text,
      `is not in RE2's syntax: ${reason.message.replace("error parsing regexp: ", "").replace("`(?s)", "`")}`,
    );
  }
  if (compiled.programSize() > MAX_PROGRAM_SIZE) {
    throw patternError(text, "is too large", "use lower counts");
  }
  const matches =
    extent === "part"
      ? compiled.test.bind(compiled)
      : compiled.testExact.bind(compiled);
  return {
    occursIn: (searched) =>
      searched.length > MAX_SEARCHED_LENGTH ? undefined : matches(searched),
  };
}

function patternError(
  pattern: string,
  problem: string,
  remedy = "",
): PolicyError {
  return new PolicyError(
    `pattern ${JSON.stringify(pattern)} ${problem}`,
    "invalid",
    { remedy },
  );
}
