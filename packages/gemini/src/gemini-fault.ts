import { Code, DevtoolError } from "@devtool/server/agent";

/** What is known of a failure of the model beyond its words. */
export interface FaultOptions {
  /** Whether the same request may do better a moment later. */
  readonly retriable?: true;
  /** The wait that the API asks for, in milliseconds. Default 0. */
  readonly retryAfterMs?: number;
  /** What helps, as the end of a sentence. Default: empty, when nothing is known to help. */
  readonly remedy?: string;
  readonly cause?: unknown;
}

/** A failure of the model or of the way to it. */
export class GeminiFault extends DevtoolError {
  readonly retriable: boolean;
  readonly retryAfterMs: number;

  constructor(problem: string, code: Code, { retriable, retryAfterMs = 0, remedy = "", cause }: FaultOptions = {}) {
    super(problem, code, { remedy, cause });
    this.retriable = retriable ?? false;
    this.retryAfterMs = retryAfterMs;
  }

  /** The same fault, with a secret hidden in its problem; an empty one hides nothing. */
  without(secret: string): GeminiFault {
    const problem = secret === "" ? this.problem : hidden(this.problem, secret);
    if (problem === this.problem) return this;
    const { code, retriable, retryAfterMs, remedy, cause } = this;
    return new GeminiFault(problem, code, { retryAfterMs, remedy, cause, ...(retriable && { retriable }) });
  }

  /** Returns what a `catch` got as a fault; other errors mean that the connection broke. */
  static override from(reason: unknown): GeminiFault {
    if (reason instanceof GeminiFault) return reason;
    if (reason instanceof DevtoolError) {
      const { problem, code, remedy } = reason;
      return new GeminiFault(problem, code, { remedy, cause: reason });
    }
    const remedy = "send the message again";
    return new GeminiFault(wordsOf(reason), Code.Unavailable, { remedy, retriable: true, cause: reason });
  }
}

/** The number of characters by which a secret is recognized, since a message may have been cut in the middle of one. */
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
  return `the connection to the model broke${name === "" ? "" : ` (${name})`}`;
}

/** The system's name for what broke, such as `ECONNREFUSED`; empty when there is none. */
function causeName(reason: unknown): string {
  for (let error = reason; error instanceof Error; error = error.cause) {
    if ("code" in error && typeof error.code === "string") return error.code;
  }
  return "";
}
