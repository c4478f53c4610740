import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { sizeDelimitedDecodeStream, sizeDelimitedEncode } from "@bufbuild/protobuf/wire";
import { ProgramRequestSchema, type ProgramResponse, ProgramResponseSchema } from "@devtool/schema/conformance";

/** The standard streams of a program under test, however it was started. */
export interface ProgramStreams {
  /** Writes to its standard input. */
  write(bytes: Uint8Array): Promise<void>;
  /** Its standard output. */
  readonly output: AsyncIterable<Uint8Array>;
}

/** What a program may be asked to do. */
export type ProgramWork = NonNullable<MessageInitShape<typeof ProgramRequestSchema>["work"]>;

/** A program under test: one request, one answer, in turn (`program.proto`). */
export class Program {
  readonly #streams: ProgramStreams;
  readonly #answers: AsyncIterator<ProgramResponse>;

  constructor(streams: ProgramStreams) {
    this.#streams = streams;
    this.#answers = sizeDelimitedDecodeStream(ProgramResponseSchema, streams.output);
  }

  /** Asks for a piece of work. Rejects when the program ends or answers with what is no response, and on abort. */
  async ask(work: ProgramWork, signal: AbortSignal): Promise<ProgramResponse["outcome"]> {
    const request = create(ProgramRequestSchema, { work });
    await this.#streams.write(sizeDelimitedEncode(ProgramRequestSchema, request));
    const { done, value } = await Promise.race([this.#answers.next(), aborted(signal)]);
    if (done) throw new Error(`the program ended without an answer to ${work.case}`);
    return value.outcome;
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
