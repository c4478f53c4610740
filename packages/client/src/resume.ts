import { Code, ConnectError } from "@connectrpc/connect";
import { abortable } from "@devtool/internal/abortable";
import type { TaskEvent } from "@devtool/schema";

/**
 * How often, and how fast, a stream is reopened after its connection is lost.
 *
 * An error about the request or the task itself is thrown at once, because a
 * retry would fail in the same way: `Code.InvalidArgument`, `NotFound`,
 * `AlreadyExists`, `PermissionDenied`, `Unauthenticated`,
 * `FailedPrecondition`, `OutOfRange`, `Unimplemented`, `DataLoss`, and
 * `ResourceExhausted`: a limit, or a full disk of the server. So is one
 * of a certificate that is not trusted, and one with the metadata
 * `grpc-retry-pushback-ms: -1`, which the A2A transports set where repeating a
 * message would start it twice. After any other error, such as
 * `Code.Unavailable`, the stream is opened again, and the last error is thrown
 * when all attempts have failed. When the signal
 * aborts, its reason is thrown.
 */
export interface ResumeOptions {
  /**
   * Gives up after this many consecutive streams without a new event. 0
   * disables reconnecting.
   *
   * Default: 10.
   */
  readonly maxAttempts?: number;
  /**
   * Upper bound of the first wait in milliseconds. It doubles with each
   * attempt, up to 10 seconds, and starts over after a new event.
   *
   * Default: 200.
   */
  readonly baseDelayMs?: number;
  /**
   * Returns a number from 0 to 1 by which each wait is multiplied, so that
   * clients do not reconnect in step.
   *
   * Default: `Math.random`.
   */
  readonly random?: () => number;
  /**
   * Waits before the next attempt. Must reject when the signal aborts.
   *
   * Default: a timer.
   */
  readonly delay?: (ms: number, signal: AbortSignal) => Promise<void>;
  /**
   * Called with the error each time a connection is lost, before the wait for
   * the next attempt.
   *
   * Default: not reported.
   */
  readonly onLost?: (error: ConnectError) => void;
}

/**
 * The log of a task, as `readWithResume` reads it.
 */
export interface ResumableLog {
  /**
   * The sequence before the first event to read. Undefined if the log may start
   * anywhere.
   */
  readonly after?: bigint;
  /**
   * Opens a stream of the events after `last`, which is undefined until an
   * event has arrived. The stream must end when the signal aborts.
   */
  open(
    last: TaskEvent | undefined,
    signal: AbortSignal,
  ): AsyncIterable<TaskEvent>;
  /**
   * Whether `event` is the last one to read.
   */
  isEnd(event: TaskEvent): boolean;
  /**
   * Whether a stream that the server ended without an error has nothing left to
   * send.
   */
  isComplete(last: TaskEvent | undefined): boolean;
}

/**
 * Reads a log to its end over streams that may break. Each new stream starts
 * after the last event received, so no event is missed or repeated.
 *
 * Throws errors that a retry cannot fix at once, `Code.DataLoss` if the server
 * leaves out an event, and the last error after too many attempts. A reader
 * that leaves early ends the stream.
 */
export async function* readWithResume(
  log: ResumableLog,
  options: ResumeOptions,
  signal: AbortSignal,
): AsyncIterable<TaskEvent> {
  // A Connect call outlives a reader that leaves early and holds its
  // connection, so it is aborted.
  const left = new AbortController();
  let isAtEnd = false;
  try {
    yield* readStreams(log, options, AbortSignal.any([signal, left.signal]));
    isAtEnd = true;
  } finally {
    if (!isAtEnd) left.abort();
  }
}

async function* readStreams(
  log: ResumableLog,
  options: ResumeOptions,
  signal: AbortSignal,
): AsyncIterable<TaskEvent> {
  const { maxAttempts = 10, onLost } = options;
  let last: TaskEvent | undefined;
  let fruitless = 0;
  for (let retry = 0; ; retry++) {
    const before = last;
    let error: ConnectError | undefined;
    try {
      for await (const event of log.open(last, signal)) {
        const { sequence } = event;
        const after = last?.sequence ?? log.after;
        // An older event is a duplicate. Without a position, the log may start
        // anywhere.
        if (after !== undefined && sequence <= after) continue;
        if (after !== undefined && sequence > after + 1n) {
          throw new ConnectError(
            `event ${after + 1n} is missing: the server sent ${sequence}`,
            Code.DataLoss,
          );
        }
        last = event;
        // An event without a payload only keeps the count: the protocol in
        // between does not show it.
        if (event.payload.case !== undefined) yield event;
        if (log.isEnd(event)) return;
      }
    } catch (reason) {
      error = ConnectError.from(reason);
    }
    signal.throwIfAborted();
    if (!error && log.isComplete(last)) return;
    if (error && isFinal(error)) throw error;
    fruitless = last === before ? fruitless + 1 : 0;
    if (fruitless === 0) retry = 0;
    const lost =
      error ??
      new ConnectError(
        "the stream ended before its task did",
        Code.Unavailable,
      );
    if (fruitless >= maxAttempts) throw lost;
    onLost?.(lost);
    await backOff(retry, options, signal);
  }
}

/**
 * Makes a call, and repeats it after errors that a retry can fix. The call must
 * have the same effect when it is repeated.
 *
 * Makes at most `maxAttempts` calls, and at least one. Rejects with a
 * `ConnectError` as described for `ResumeOptions`.
 *
 * ```ts
 * const { task } = await callWithRetry((signal) => client.tasks.getTask({ taskId }, { signal }), {}, signal);
 * ```
 */
export async function callWithRetry<T>(
  call: (signal: AbortSignal) => Promise<T>,
  options: ResumeOptions,
  signal: AbortSignal,
): Promise<T> {
  const { maxAttempts = 10, onLost } = options;
  for (let retry = 0; ; retry++) {
    try {
      return await call(signal);
    } catch (reason) {
      signal.throwIfAborted();
      const error = ConnectError.from(reason);
      if (isFinal(error) || retry + 1 >= maxAttempts) throw error;
      onLost?.(error);
      await backOff(retry, options, signal);
    }
  }
}

/**
 * Yields the items of a stream that has no end, and opens it again when its
 * connection is lost. Each stream starts from the beginning.
 *
 * Throws errors that a retry cannot fix at once, and the last error after too
 * many streams without any item.
 */
export async function* repeatStream<T>(
  open: (signal: AbortSignal) => AsyncIterable<T>,
  options: ResumeOptions,
  signal: AbortSignal,
): AsyncIterable<T> {
  const { maxAttempts = 10, onLost } = options;
  for (let retry = 0; ; retry++) {
    let lost = new ConnectError(
      "the server has ended the stream",
      Code.Unavailable,
    );
    try {
      for await (const item of open(signal)) {
        retry = 0;
        yield item;
      }
    } catch (reason) {
      lost = ConnectError.from(reason);
    }
    signal.throwIfAborted();
    if (isFinal(lost) || retry + 1 >= maxAttempts) throw lost;
    onLost?.(lost);
    await backOff(retry, options, signal);
  }
}

/**
 * Waits before the next attempt, after `retry` earlier ones.
 */
export async function backOff(
  retry: number,
  options: ResumeOptions,
  signal: AbortSignal,
): Promise<void> {
  const {
    baseDelayMs = 200,
    random = Math.random,
    delay = abortableDelay,
  } = options;
  await delay(random() * Math.min(baseDelayMs * 2 ** retry, 10_000), signal);
}

/**
 * Returns whether a retry would fail in the same way, or must not be made.
 */
function isFinal(error: ConnectError): boolean {
  return (
    FINAL_CODES.has(error.code) ||
    error.metadata.get(RETRY_PUSHBACK) === "-1" ||
    causesOf(error).some(({ code }) => UNTRUSTED.test(String(code)))
  );
}

/**
 * The metadata with which gRPC says that a call must not be repeated, if its
 * value is -1 (gRFC A6).
 */
export const RETRY_PUSHBACK = "grpc-retry-pushback-ms";

/** The codes of Node and OpenSSL for a certificate that is not trusted. */
const UNTRUSTED = /CERT|SELF_SIGNED|^UNABLE_TO_/;

/**
 * Returns the causes of an error, the outermost first, with their codes.
 */
export function causesOf(
  reason: unknown,
): readonly (Error & { readonly code?: unknown })[] {
  const causes: Error[] = [];
  for (
    let each = reason;
    each instanceof Error && causes.length < 8;
    each = each.cause
  ) {
    causes.push(each);
  }
  return causes;
}

/**
 * Codes about the request, the log itself or a full disk: a retry would fail in
 * the same way.
 */
const FINAL_CODES: ReadonlySet<Code> = new Set([
  Code.InvalidArgument,
  Code.NotFound,
  Code.AlreadyExists,
  Code.PermissionDenied,
  Code.Unauthenticated,
  Code.FailedPrecondition,
  Code.ResourceExhausted,
  Code.OutOfRange,
  Code.Unimplemented,
  Code.DataLoss,
]);

async function abortableDelay(ms: number, signal: AbortSignal): Promise<void> {
  const done = Promise.withResolvers<void>();
  const timeout = setTimeout(done.resolve, ms);
  try {
    await abortable(done.promise, signal);
  } finally {
    clearTimeout(timeout);
  }
}
