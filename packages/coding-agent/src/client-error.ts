import { keepEnd, shorten } from "@devtool/internal/cut-text";
import { PolicyError } from "@devtool/policy";
import { SandboxError } from "@devtool/sandbox";
import { Code, DevtoolError } from "@devtool/server/agent";

/**
 * Ids and paths that say where a fault happened. None of them holds content of
 * a conversation.
 */
export type FaultPlace = Readonly<Record<string, string>>;

/**
 * The maximum length of a stack frame in a notice, in characters. The end of a
 * frame, its file and line, is kept.
 */
const MAX_FRAME_LENGTH = 160;

/**
 * Converts a failure to the error that a client may see.
 *
 * An internal error tells a client only that the server's log says more. For
 * such an error, this function also sends the operator a notice with the
 * operation, `place`, the error's class and code, and the innermost stack
 * frame. The notice leaves out the error's message, which may hold content of a
 * conversation.
 */
export function clientError(
  reason: unknown,
  operation: string,
  place: FaultPlace,
  onNotice: (text: string) => void,
): DevtoolError {
  const error = DevtoolError.from(translateError(reason));
  if (error.code !== Code.Internal) return error;
  const fault = error === reason ? (error.cause ?? error) : reason;
  const ids = Object.fromEntries(
    Object.entries(place).map(([name, value]) => [name, shorten(value)]),
  );
  onNotice(
    `${operation} failed inside the server: ${JSON.stringify({ ...ids, ...describeFault(fault) })}`,
  );
  return error;
}

function describeFault(
  fault: unknown,
): Readonly<Record<string, string | undefined>> {
  if (!(fault instanceof Error)) return { error: typeof fault };
  const { stack = "", message } = fault;
  // The search starts behind the message, because a message can contain lines
  // that look like stack frames.
  const frames = stack.slice(stack.indexOf(message) + message.length);
  const [, frame] = /^ {4}at (.*)$/m.exec(frames) ?? [];
  return {
    error: shorten(fault.constructor.name),
    code:
      "code" in fault && typeof fault.code === "string"
        ? shorten(fault.code)
        : undefined,
    at: frame && keepEnd(frame, MAX_FRAME_LENGTH),
  };
}

const POLICY_CODES: Readonly<Record<PolicyError["reason"], Code>> = {
  invalid: Code.InvalidArgument,
  "cannot-save": Code.FailedPrecondition,
  "not-written": Code.Unavailable,
};

/**
 * Converts a `PolicyError` or a `SandboxError` to a `DevtoolError` with the
 * same message. Returns any other value as it is.
 */
export function translateError(reason: unknown): unknown {
  if (!(reason instanceof PolicyError || reason instanceof SandboxError)) {
    return reason;
  }
  const { problem, remedy } = reason;
  const code =
    reason instanceof PolicyError
      ? POLICY_CODES[reason.reason]
      : Code.FailedPrecondition;
  return new DevtoolError(problem, code, { remedy, cause: reason });
}

/**
 * Returns the code of a system error, for instance `ENOENT`, or `unknown` for
 * any other value.
 */
export function systemErrorCode(reason: unknown): string {
  return reason instanceof Error && "code" in reason
    ? String(reason.code)
    : "unknown";
}
