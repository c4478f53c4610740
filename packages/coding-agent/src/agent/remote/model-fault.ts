import { Code, DevtoolError } from "@devtool/server/agent";

/** Optional parts of a `ModelFault`. */
export interface FaultOptions {
  /** Whether the same request may succeed a moment later. Default: false. */
  readonly retriable?: boolean | undefined;
  /** The wait that the API asks for, in milliseconds. Default: 0. */
  readonly retryAfterMs?: number;
  /** What the reader can do about the problem. Default: empty. */
  readonly remedy?: string;
  /**
   * Why the answer ended, as `gen_ai.response.finish_reasons` of OpenTelemetry
   * says it. Default: `error`.
   */
  readonly finishReason?: string | undefined;
  readonly cause?: unknown;
}

/**
 * Returns the fault for an answer that cannot be used, where another one may
 * be. The remedy is to send the message again, if the options have none.
 */
export function brokenFault(
  problem: string,
  options: FaultOptions = {},
): ModelFault {
  return new ModelFault(problem, Code.Unavailable, {
    remedy: "send the message again",
    retriable: true,
    ...options,
  });
}

/**
 * The number of characters by which a secret is recognized: a message may have
 * been cut in the middle of one.
 */
const RECOGNIZED_LENGTH = 8;

/**
 * A failure of the model, or of the connection to it. Users see its problem and
 * its remedy.
 *
 * `generateRemotely` sends the request again after one that is retriable, as
 * long as no part of the answer has arrived.
 */
export class ModelFault extends DevtoolError {
  readonly retriable: boolean;
  /** The wait that the API asks for, in milliseconds; 0 for none. */
  readonly retryAfterMs: number;
  /** Why the answer ended: `length`, `content_filter` or `error`. */
  readonly finishReason: string;

  constructor(problem: string, code: Code, options: FaultOptions = {}) {
    const { retriable = false, retryAfterMs = 0, remedy = "", cause } = options;
    const { finishReason = "error" } = options;
    super(problem, code, { remedy, cause });
    this.retriable = retriable;
    this.retryAfterMs = retryAfterMs;
    this.finishReason = finishReason;
  }

  /**
   * Returns the fault with a secret hidden in its problem, even one that was
   * cut off. An empty secret hides nothing.
   */
  without(secret: string): ModelFault {
    if (secret === "") return this;
    const [before = "", ...pieces] = this.problem.split(
      secret.slice(0, RECOGNIZED_LENGTH),
    );
    if (pieces.length === 0) return this;
    const rest = secret.slice(RECOGNIZED_LENGTH);
    const visible = pieces.map((piece) => {
      let hidden = 0;
      while (hidden < rest.length && piece[hidden] === rest[hidden]) hidden++;
      return `***${piece.slice(hidden)}`;
    });
    const problem = [before, ...visible].join("");
    const { code, retriable, retryAfterMs, remedy, finishReason, cause } = this;
    return new ModelFault(problem, code, {
      retriable,
      finishReason,
      retryAfterMs,
      remedy,
      cause,
    });
  }

  /**
   * Returns the fault for an answer that ended before the API said that it was
   * whole.
   */
  static interrupted(): ModelFault {
    return brokenFault("the model's answer ended in the middle");
  }

  /**
   * Returns the fault for an answer whose fields have other types than those of
   * the API, as an SDK does not check them.
   */
  static malformed(cause?: unknown): ModelFault {
    return brokenFault("the model's answer does not have the form of its API", {
      remedy: "send the message again, or choose another model",
      cause,
    });
  }

  /**
   * Returns a caught value as a fault: itself, or the fault that caused it.
   *
   * Any other error that is not a `DevtoolError` means that the connection
   * broke.
   */
  static override from(reason: unknown): ModelFault {
    let errorCode: string | undefined;
    for (let error = reason; error instanceof Error; error = error.cause) {
      if (error instanceof ModelFault) return error;
      if ("code" in error && typeof error.code === "string") {
        errorCode ??= error.code;
      }
    }
    if (reason instanceof DevtoolError) {
      const { problem, code, remedy } = reason;
      return new ModelFault(problem, code, { remedy, cause: reason });
    }
    // The message of such an error may quote what came over the wire, so only
    // its system code is shown, such as `ECONNREFUSED`.
    const problem = `the connection to the model broke${errorCode ? ` (${errorCode})` : ""}`;
    return brokenFault(problem, { cause: reason });
  }
}
