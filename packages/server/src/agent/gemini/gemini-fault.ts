import { Code, DevtoolError } from "../../errors.ts";

/** What is known of a failure of the model beyond its words. */
export interface FaultOptions {
  /** Whether the same request may do better a moment later. */
  readonly retriable?: true;
  /** The API asks to wait so many milliseconds. */
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

/** A failure of the model or of the way to it. */
export class GeminiFault extends DevtoolError {
  readonly retriable: boolean;
  readonly retryAfterMs: number;

  constructor(message: string, code: Code, { retriable, retryAfterMs = 0, cause }: FaultOptions = {}) {
    super(message, code, { cause });
    this.retriable = retriable ?? false;
    this.retryAfterMs = retryAfterMs;
  }

  /** The same fault, with a secret hidden in its message; an empty one hides nothing. */
  without(secret: string): GeminiFault {
    const message = secret === "" ? this.message : hidden(this.message, secret);
    if (message === this.message) return this;
    const { retriable, retryAfterMs } = this;
    return new GeminiFault(message, this.code, { retryAfterMs, cause: this.cause, ...(retriable && { retriable }) });
  }

  /** Takes what a `catch` got: what is no fault yet is a stream that broke. */
  static override from(reason: unknown): GeminiFault {
    if (reason instanceof GeminiFault) return reason;
    if (reason instanceof DevtoolError) return new GeminiFault(reason.message, reason.code, { cause: reason });
    return new GeminiFault(wordsOf(reason), Code.Unavailable, { retriable: true, cause: reason });
  }
}

/** So many characters of a secret are taken for it, since a message may have been cut in the middle of one. */
const RECOGNIZED = 8;

/** Hides a secret in a text, also one that was cut off. */
function hidden(text: string, secret: string): string {
  const [before = "", ...pieces] = text.split(secret.slice(0, RECOGNIZED));
  const rest = secret.slice(RECOGNIZED);
  return [before, ...pieces.map((piece) => `***${piece.slice(commonLength(piece, rest))}`)].join("");
}

function commonLength(one: string, other: string): number {
  let length = 0;
  while (length < other.length && one[length] === other[length]) length++;
  return length;
}

/** Says what broke, without what came over the wire. */
function wordsOf(reason: unknown): string {
  const name = causeName(reason);
  return `the connection to the model broke${name === "" ? "" : ` (${name})`}: send the message again`;
}

/** The system's name for what broke, such as `ECONNREFUSED`; empty when there is none. */
function causeName(reason: unknown): string {
  for (let error = reason; error instanceof Error; error = error.cause) {
    if ("code" in error && typeof error.code === "string") return error.code;
  }
  return "";
}
