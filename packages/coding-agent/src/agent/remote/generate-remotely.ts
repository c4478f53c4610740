import { create } from "@bufbuild/protobuf";
import { type Message, NoticeSchema } from "@devtool/schema";
import { Code, DevtoolError, PieceJoiner } from "@devtool/server/agent";
import { stepStart } from "../history.ts";
import type { ModelEvent } from "../model.ts";
import { EMPTY_ANSWER, malformedFault } from "./answer-calls.ts";
import { Deadlines } from "./deadlines.ts";
import { ModelFault } from "./model-fault.ts";
import {
  DEFAULT_RETRY_POLICY,
  DEFAULT_TIMEOUTS,
  type ModelTimeouts,
  type RetryPolicy,
} from "./remote-limits.ts";
import { withRetries } from "./retry.ts";

/**
 * When a request to a model is sent again, and how long its answer may take.
 */
export interface RemoteOptions {
  /** When a request is sent again. Default: the defaults of `RetryPolicy`. */
  readonly retry?: Partial<RetryPolicy> | undefined;
  /**
   * How long to wait for an answer. Default: the defaults of `ModelTimeouts`.
   */
  readonly timeouts?: Partial<ModelTimeouts> | undefined;
  /**
   * Returns a number from 0 to below 1, for the random part of the waits
   * between attempts.
   */
  readonly random: () => number;
  /** Waits between attempts, in milliseconds. Default: the platform's timer. */
  readonly sleep?:
    | ((ms: number, signal: AbortSignal) => Promise<void>)
    | undefined;
}

/** Turns the pieces of one streamed answer into events. */
export interface AnswerReader<Piece> {
  /**
   * How far the answer is: `finished` once the API has said why it ended,
   * though the usage may follow, and `closed` when nothing follows.
   */
  readonly progress: "open" | "finished" | "closed";
  /**
   * Yields the events of a piece. Throws a `ModelFault` for a piece that cannot
   * be used.
   */
  add(piece: Piece): Iterable<ModelEvent>;
  /**
   * Yields the usage and the calls. Throws a `ModelFault` when the answer did
   * not end well.
   */
  end(): Iterable<ModelEvent>;
}

/** A request to a model's API. */
export interface RemoteRequest<Piece> {
  /**
   * Sends the request once and yields the pieces of the answer. Throws a
   * `ModelFault`, or the signal's reason.
   */
  readonly ask: (signal: AbortSignal) => AsyncIterable<Piece>;
  /** Creates the reader of one answer. */
  readonly createReader: () => AnswerReader<Piece>;
  /** The key, which must appear in no error. Empty: none. */
  readonly secret: string;
  /** The conversation that the answer continues. */
  readonly history: readonly Message[];
}

/**
 * Generates one step with a model behind an API.
 *
 * A request that fails before any part of its answer has arrived is sent again.
 * An answer that breaks off later fails the step: its text stays, and none of
 * its calls runs. See `docs/models.md` for each fault.
 *
 * Throws a `ModelFault` without the secret, or the reason of `signal`.
 */
export async function* generateRemotely<Piece>(
  request: RemoteRequest<Piece>,
  options: RemoteOptions,
  signal: AbortSignal,
): AsyncIterable<ModelEvent> {
  const { random, sleep } = options;
  const timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts };
  const turn = new AbortController();
  const timer = setTimeout(() => {
    const problem = `the model took longer than ${timeouts.turnMs} ms for an answer`;
    turn.abort(
      new ModelFault(problem, Code.DeadlineExceeded, {
        remedy: "ask for less at once",
      }),
    );
  }, timeouts.turnMs);
  try {
    const limit = AbortSignal.any([signal, turn.signal]);
    const retries = {
      policy: { ...DEFAULT_RETRY_POLICY, ...options.retry },
      random,
      sleep,
    };
    yield* withRetries(
      (attemptSignal) =>
        joinSurrogates(attempt(request, timeouts, attemptSignal)),
      retries,
      limit,
    );
  } catch (reason) {
    signal.throwIfAborted();
    const fault = ModelFault.from(reason);
    // After calls, a model may have nothing to add: what they did is done.
    const mayBeEmpty = stepStart(request.history).message === undefined;
    if (!mayBeEmpty || !fault.problem.startsWith(EMPTY_ANSWER)) throw fault;
    const text = `${fault.problem} after the calls: the turn ends`;
    yield { case: "notice", value: create(NoticeSchema, { text }) };
  } finally {
    clearTimeout(timer);
  }
}

/** Sends the request once and yields the events of its answer. */
async function* attempt<Piece>(
  { ask, createReader, secret }: RemoteRequest<Piece>,
  timeouts: ModelTimeouts,
  signal: AbortSignal,
): AsyncIterable<ModelEvent> {
  using deadlines = new Deadlines(timeouts, signal);
  const answer = createReader();
  try {
    try {
      for await (const piece of deadlines.watch(ask(deadlines.signal))) {
        yield* wellFormed(() => answer.add(piece));
        // Some servers and proxies keep the connection open after the end.
        if (answer.progress === "closed") break;
      }
    } catch (reason) {
      if (answer.progress !== "finished" || !deadlines.isPast) throw reason;
    }
    yield* wellFormed(() => answer.end());
  } catch (reason) {
    // Users see the fault, also when the request is sent again after it.
    throw ModelFault.from(reason).without(secret);
  }
}

/** Joins the halves of characters that two pieces share (`PieceJoiner`). */
async function* joinSurrogates(
  events: AsyncIterable<ModelEvent>,
): AsyncIterable<ModelEvent> {
  const joiner = new PieceJoiner();
  for await (const event of events) {
    if (event.case === "text" || event.case === "thought") {
      if (event.value !== "") yield* joiner.add(event);
    } else {
      yield* joiner.rest();
      yield event;
    }
  }
  yield* joiner.rest();
}

/**
 * Yields the events that a reader reads. What an API sends need not have the
 * types that its SDK declares.
 */
function* wellFormed(read: () => Iterable<ModelEvent>): Iterable<ModelEvent> {
  try {
    for (const event of read()) {
      if (!textsOf(event).every((text) => typeof text === "string")) {
        throw malformedFault();
      }
      yield event;
    }
  } catch (reason) {
    throw reason instanceof DevtoolError ? reason : malformedFault(reason);
  }
}

/** Returns the values of an event that must be texts. */
function textsOf(event: ModelEvent): readonly unknown[] {
  switch (event.case) {
    case "text":
      return [event.value];
    case "thought":
      return [event.value.subject, event.value.description];
    case "citation":
      return [event.value.uri, event.value.title, event.value.license];
    default:
      return [];
  }
}
