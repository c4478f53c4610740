import type { JsonValue } from "@bufbuild/protobuf";

/** One frame of a stream: the JSON text of a `result`, and the sequence of its event; none where a frame of the same event follows. */
export interface Frame {
  readonly result: string;
  readonly id?: bigint;
}

/** What a method answers: one result, or a stream of them. */
export type Answer =
  | { readonly case: "result"; readonly value: JsonValue }
  | { readonly case: "stream"; readonly value: AsyncIterable<Frame> };

/** The answer to a request, with the headers that go along. */
export interface Answered {
  readonly answer: Answer;
  /** Complete once the result, or the first frame of the stream, was made. */
  readonly headers: () => Readonly<Record<string, string>>;
}
