import { shorten } from "@devtool/schema";
import { Code, DevtoolError } from "@devtool/server/agent";
import { translateError } from "./translate-error.ts";

/** Where a fault happened, by names that hold nothing of a conversation. */
export type FaultPlace = Readonly<Record<string, string>>;

/**
 * A failure as clients see it. One of which they see only that the server's log says more becomes a line for the operator:
 * where it happened, its kind, and the place in the code, without its message, which may hold content.
 */
export function clientError(
  reason: unknown,
  { what, place, onNotice }: { readonly what: string; readonly place: FaultPlace; onNotice(text: string): void },
): DevtoolError {
  const error = DevtoolError.from(translateError(reason));
  if (error.code !== Code.Internal) return error;
  const fault = error === reason ? (error.cause ?? error) : reason;
  onNotice(`${what} failed inside the server: ${JSON.stringify({ ...shortened(place), ...describe(fault) })}`);
  return error;
}

function shortened(place: FaultPlace): FaultPlace {
  return Object.fromEntries(Object.entries(place).map(([name, value]) => [name, shorten(value)]));
}

function describe(fault: unknown): FaultPlace {
  if (!(fault instanceof Error)) return { error: typeof fault };
  const code = "code" in fault && typeof fault.code === "string" ? { code: shorten(fault.code) } : {};
  const at = frameOf(fault);
  return { error: shorten(fault.constructor.name), ...code, ...(at !== "" && { at }) };
}

/** The innermost place of a stack, which comes after the message. */
function frameOf({ stack = "", message }: Error): string {
  const frames = stack.slice(stack.indexOf(message) + message.length);
  const [, frame = ""] = /^ {4}at (.*)$/m.exec(frames) ?? [];
  return frame.slice(-MAX_FRAME);
}

/** The maximum number of characters of a place in the code; its end says the most. */
const MAX_FRAME = 160;
