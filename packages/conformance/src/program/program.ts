import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  sizeDelimitedDecodeStream,
  sizeDelimitedEncode,
} from "@bufbuild/protobuf/wire";
import {
  ProgramRequestSchema,
  type ProgramResponse,
  ProgramResponseSchema,
} from "../protos.ts";

/**
 * The standard streams of a program under test. How the program is started is
 * up to the caller.
 */
export interface ProgramStreams {
  /**
   * Writes to the program's standard input.
   */
  write(bytes: Uint8Array): Promise<void>;
  /**
   * The program's standard output.
   */
  readonly output: AsyncIterable<Uint8Array>;
}

/**
 * A piece of work that a program can be asked to do: one of the cases of
 * `ProgramRequest.work`.
 */
export type ProgramWork = NonNullable<
  MessageInitShape<typeof ProgramRequestSchema>["work"]
>;

/**
 * What a program answers: one of the cases of `ProgramResponse.outcome`.
 */
export type ProgramOutcome = ProgramResponse["outcome"];

/**
 * What the suites need of a program.
 */
export interface AskProgram {
  /**
   * Asks for a piece of work and returns the outcome. Rejects if the program
   * ends, sends something that is not a response, or the signal aborts.
   */
  ask(work: ProgramWork, signal: AbortSignal): Promise<ProgramOutcome>;
}

/**
 * A program under test. It reads size-delimited requests and answers each in
 * turn (`program.proto`).
 *
 * Answers have no ids, so ask one thing at a time. After an `ask` that rejected,
 * a late answer would be taken for that of the next: start the program anew.
 */
export class Program implements AskProgram {
  readonly #streams: ProgramStreams;
  readonly #responses: AsyncIterator<ProgramResponse>;

  constructor(streams: ProgramStreams) {
    this.#streams = streams;
    this.#responses = sizeDelimitedDecodeStream(
      ProgramResponseSchema,
      streams.output,
    );
  }

  async ask(work: ProgramWork, signal: AbortSignal): Promise<ProgramOutcome> {
    const request = create(ProgramRequestSchema, { work });
    await this.#streams.write(
      sizeDelimitedEncode(ProgramRequestSchema, request),
    );
    const aborted = Promise.withResolvers<never>();
    const abort = (): void => aborted.reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    try {
      const { done, value } = await Promise.race([
        this.#responses.next(),
        aborted.promise,
      ]);
      if (done) {
        throw new Error(`the program ended without an answer to ${work.case}`);
      }
      return value.outcome;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }
}
