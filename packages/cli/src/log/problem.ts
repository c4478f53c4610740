import { keepStart } from "@devtool/internal/cut-text";
import { Code, DevtoolError } from "@devtool/server";

/** The maximum length of the text of an error, in characters. */
const MAX_LENGTH = 1000;

/** The maximum number of frames of a stack. */
const MAX_FRAMES = 12;

/** The maximum number of causes of an error. */
const MAX_CAUSES = 4;

/** What a line says of an error. */
interface Problem {
  readonly code: string;
  readonly problem: string;
}

/**
 * Returns what a line says of an error that a client has seen.
 *
 * The values that such an error quotes are the client's, and may be content or
 * a secret that stands in the wrong place.
 */
export function clientProblem(error: unknown): Problem {
  const code = codeOf(error);
  const isKnown = error instanceof DevtoolError || code !== Code.Internal;
  const problem =
    isKnown && error instanceof Error
      ? withoutContent(error.message)
      : "internal error";
  return { code: codeName(code), problem };
}

/** Returns what a line says of an error of the server itself. */
export function faultProblem(
  reason: unknown,
): Problem & { readonly stack: string[] } {
  return {
    code: codeName(codeOf(reason)),
    problem: causesOf(reason).map(faultText).join(", because of "),
    stack: framesOf(causesOf(reason).at(-1)),
  };
}

/** Returns the error, its cause, the cause of that and so on. */
function causesOf(reason: unknown): readonly unknown[] {
  const causes = [reason];
  for (let last = reason; causes.length < MAX_CAUSES; ) {
    last = last instanceof AggregateError ? last.errors[0] : causeOf(last);
    if (last === undefined || causes.includes(last)) break;
    causes.push(last);
  }
  return causes;
}

function causeOf(reason: unknown): unknown {
  return reason instanceof Error ? reason.cause : undefined;
}

function faultText(reason: unknown): string {
  if (!(reason instanceof Error)) return `a thrown ${typeof reason}`;
  // Our own errors say nothing that their receiver must not see. Others quote
  // what they could not read: `"…" is not valid JSON`.
  return reason instanceof DevtoolError
    ? keepStart(reason.message, MAX_LENGTH)
    : `${reason.name}: ${withoutContent(reason.message)}`;
}

/**
 * Returns the text of an error without what it quotes: a value in double
 * quotes or after `got`, and in parentheses what a model's API says.
 */
export function withoutContent(text: string): string {
  return keepStart(text, MAX_LENGTH)
    .replaceAll(/"(?:[^"\\]|\\.)*(?:"|$)/gs, '"…"')
    .replace(/\(.*(?:\)|$)/s, "(…)")
    .replace(/, got .*$/s, "");
}

function framesOf(reason: unknown): string[] {
  const stack = reason instanceof Error ? (reason.stack ?? "") : "";
  return stack
    .split("\n")
    .filter((line) => /^\s+at /.test(line))
    .slice(0, MAX_FRAMES)
    .map((line) => line.trim());
}

/** Returns the code that clients are sent for an error. */
function codeOf(reason: unknown): Code {
  // What interceptors throw.
  if (
    reason instanceof Error &&
    reason.name === "ConnectError" &&
    "code" in reason &&
    typeof reason.code === "number"
  ) {
    return reason.code;
  }
  return reason instanceof Error && reason.name === "WireError"
    ? Code.InvalidArgument
    : DevtoolError.from(reason).code;
}

/** Returns a code as Connect writes it. */
function codeName(code: Code): string {
  return (Code[code] ?? "unknown")
    .replaceAll(/(?!^)[A-Z]/g, (letter) => `_${letter}`)
    .toLowerCase();
}
