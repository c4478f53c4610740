import { Code, ConnectError } from "@connectrpc/connect";
import type { TaskEvent } from "@devtool/schema";

/** How a stream is taken up again when its connection is lost. */
export interface ResumeOptions {
  /** So many streams in a row without a new event before it gives up; 0 never opens a second one. Default 10. */
  readonly maxAttempts?: number;
  /** The first wait is up to so many milliseconds, each next one up to twice as many, at most 10 seconds. Default 200. */
  readonly baseDelayMs?: number;
  /** Gives a number from 0 to 1 that spreads the waits. Default Math.random. */
  readonly random?: () => number;
  /** Waits. Default: a timer. */
  readonly delay?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** A log to read. */
export interface ReadLog {
  /** The sequence before the first event to read; undefined when any event may come first. */
  readonly after?: bigint;
  /** Opens a stream of the events after the last one that came, undefined before the first; it ends when the signal aborts. */
  open(last: TaskEvent | undefined, signal: AbortSignal): AsyncIterable<TaskEvent>;
  /** Whether an event is the last to read. */
  isEnd(event: TaskEvent): boolean;
  /** Whether all was read when the server ends a stream in good order. */
  isComplete(last: TaskEvent | undefined): boolean;
}

/**
 * Reads a log to its end over streams that may break: opens the next after the last event that came, so that none is
 * missed and none comes twice. Throws what cannot be mended by trying again, `Code.DataLoss` when the server leaves out
 * an event, and the last error when it gave up. A reader that leaves before the end ends the stream.
 */
export async function* resumed(
  log: ReadLog,
  { signal, ...options }: ResumeOptions & { readonly signal: AbortSignal },
): AsyncIterable<TaskEvent> {
  // A call of Connect goes on when its reader leaves, and holds its connection; past the end the server ends it itself.
  const left = new AbortController();
  let isAtEnd = false;
  try {
    yield* read(log, { ...options, signal: AbortSignal.any([signal, left.signal]) });
    isAtEnd = true;
  } finally {
    if (!isAtEnd) left.abort();
  }
}

async function* read(
  log: ReadLog,
  { signal, ...options }: ResumeOptions & { readonly signal: AbortSignal },
): AsyncIterable<TaskEvent> {
  const { maxAttempts = 10 } = options;
  let last: TaskEvent | undefined;
  let fruitless = 0;
  for (let breaks = 1; ; breaks++) {
    const before = last;
    const broken = new Breakage();
    for await (const event of broken.watch(log.open(last, signal))) {
      if (!isNext(event, last?.sequence ?? log.after)) continue;
      last = event;
      // What the protocol between shows nothing of only counts.
      if (event.payload.case !== undefined) yield event;
      if (log.isEnd(event)) return;
    }
    signal.throwIfAborted();
    if (!broken.error && log.isComplete(last)) return;
    broken.assertMendable();
    fruitless = last === before ? fruitless + 1 : 0;
    if (fruitless === 0) breaks = 1;
    if (fruitless >= maxAttempts) throw broken.error ?? endedEarly();
    await wait(breaks - 1, signal, options);
  }
}

/** Remembers how a stream broke instead of throwing it. */
class Breakage {
  error: ConnectError | undefined;

  async *watch<T>(stream: AsyncIterable<T>): AsyncIterable<T> {
    try {
      yield* stream;
    } catch (reason) {
      this.error = ConnectError.from(reason);
    }
  }

  assertMendable(): void {
    if (this.error && FINAL_CODES.has(this.error.code)) throw this.error;
  }
}

function endedEarly(): ConnectError {
  return new ConnectError("the stream ended before its task did", Code.Unavailable);
}

/** Codes that say something about the request or the log, so that asking again gives the same. */
const FINAL_CODES: ReadonlySet<Code> = new Set([
  Code.InvalidArgument,
  Code.NotFound,
  Code.AlreadyExists,
  Code.PermissionDenied,
  Code.Unauthenticated,
  Code.FailedPrecondition,
  Code.OutOfRange,
  Code.Unimplemented,
  Code.DataLoss,
]);

/** Tells whether an event follows a sequence; one that came before is left out, a gap is an error. */
function isNext({ sequence }: TaskEvent, after: bigint | undefined): boolean {
  if (after === undefined || sequence === after + 1n) return true;
  if (sequence <= after) return false;
  throw new ConnectError(`event ${after + 1n} is missing: the server sent ${sequence}`, Code.DataLoss);
}

async function wait(attempt: number, signal: AbortSignal, options: ResumeOptions): Promise<void> {
  const { baseDelayMs = 200, random = Math.random, delay = timer } = options;
  await delay(random() * Math.min(baseDelayMs * 2 ** attempt, 10_000), signal);
}

async function timer(ms: number, signal: AbortSignal): Promise<void> {
  const done = Promise.withResolvers<void>();
  const timeout = setTimeout(done.resolve, ms);
  const abort = (): void => done.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    await done.promise;
  } finally {
    clearTimeout(timeout);
    signal.removeEventListener("abort", abort);
  }
}
