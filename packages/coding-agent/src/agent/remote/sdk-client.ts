import { create } from "@bufbuild/protobuf";
import { loadOnce } from "@devtool/internal/load-once";
import { type Message, NoticeSchema } from "@devtool/schema";
import { Code, DevtoolError, PieceJoiner } from "@devtool/server/agent";
import { stepStart } from "../history.ts";
import type { ModelEvent } from "../model.ts";
import { EMPTY_ANSWER } from "./answer-calls.ts";
import { Deadlines } from "./deadlines.ts";
import { ModelFault } from "./model-fault.ts";
import {
  DEFAULT_TIMEOUTS,
  type ModelTimeouts,
  type RemoteOptions,
} from "./remote-options.ts";
import { withRetries } from "./retry.ts";

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

/** Sends a request. Resolves when the head of the answer has come. */
export type Send<Sdk, Piece> = (
  sdk: Sdk,
  signal: AbortSignal,
) => Promise<AsyncIterable<Piece>>;

/** A step that a model is asked for. */
interface StepRequest<Sdk, Piece> {
  readonly send: Send<Sdk, Piece>;
  /** Creates the reader of one answer. */
  readonly createReader: () => AnswerReader<Piece>;
  /** The conversation that the answer continues. */
  readonly history: readonly Message[];
}

/** A client of a model's API, on the SDK of that API. */
export class SdkClient<Sdk> {
  readonly #load: () => Promise<Sdk>;
  readonly #options: RemoteOptions;
  readonly #timeouts: ModelTimeouts;

  /**
   * The SDK is loaded with the first request, unless `load` is called before:
   * loading it takes longer than a server's start.
   */
  constructor(load: () => Promise<Sdk>, options: RemoteOptions) {
    this.#load = loadOnce(load);
    this.#options = options;
    this.#timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts };
  }

  /** Loads the SDK, and Node's `fetch`, which takes as long. */
  async load(): Promise<void> {
    await this.#load();
    new Headers();
  }

  /**
   * Sends a request once and yields the pieces of the answer. Throws a
   * `ModelFault`, or the signal's reason.
   */
  async *ask<Piece>(
    send: Send<Sdk, Piece>,
    signal: AbortSignal,
  ): AsyncIterable<Piece> {
    try {
      yield* await send(await this.#load(), signal);
    } catch (reason) {
      signal.throwIfAborted();
      throw ModelFault.from(reason);
    }
    // Some SDKs end a stream without an error when the signal aborts.
    signal.throwIfAborted();
  }

  /**
   * Generates one step.
   *
   * A request that fails before any part of its answer has arrived is sent
   * again. An answer that breaks off later fails the step: its text stays, and
   * none of its calls runs. See `docs/models.md` for each fault.
   *
   * Throws a `ModelFault` without the key, or the reason of `signal`.
   */
  async *generate<Piece>(
    request: StepRequest<Sdk, Piece>,
    signal: AbortSignal,
  ): AsyncIterable<ModelEvent> {
    const { turnMs } = this.#timeouts;
    const turn = new AbortController();
    const timer = setTimeout(() => {
      const problem = `the model took longer than ${turnMs} ms for an answer`;
      turn.abort(
        new ModelFault(problem, Code.DeadlineExceeded, {
          remedy: "ask for less at once",
        }),
      );
    }, turnMs);
    try {
      yield* withRetries(
        (limit) => joinSurrogates(this.#attempt(request, limit)),
        this.#options,
        AbortSignal.any([signal, turn.signal]),
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
  async *#attempt<Piece>(
    { send, createReader }: StepRequest<Sdk, Piece>,
    signal: AbortSignal,
  ): AsyncIterable<ModelEvent> {
    using deadlines = new Deadlines(this.#timeouts, signal);
    const answer = createReader();
    const pieces = this.ask(send, deadlines.signal);
    try {
      try {
        for await (const piece of deadlines.watch(pieces)) {
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
      throw ModelFault.from(reason).without(this.#options.apiKey ?? "");
    }
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
        throw ModelFault.malformed();
      }
      yield event;
    }
  } catch (reason) {
    throw reason instanceof DevtoolError
      ? reason
      : ModelFault.malformed(reason);
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
