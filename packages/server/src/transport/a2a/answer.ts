import type { JsonValue } from "@bufbuild/protobuf";
import { type Frame, streamFrames } from "../http/answer.ts";
import { send } from "../http/route.ts";
import type { RoutedCall } from "../http/routed-call.ts";

/** The answer of a method: a single result, or a stream of frames. */
export type Answer =
  | { readonly case: "result"; readonly value: JsonValue }
  | {
      readonly case: "stream";
      readonly value: AsyncIterable<Frame>;
      /** Hears how the stream ends. Default: nobody. */
      readonly observed?: AnswerForm["observed"];
    };

/** How a binding writes answers, streams and the errors that end them. */
export type AnswerForm = Parameters<typeof streamFrames>[3] & {
  /**
   * Returns the body of a single result. Default: `wrap` of the JSON text of
   * the result.
   */
  readonly body?: (value: JsonValue) => string;

  /** The media type of a single result. Default: `application/json`. */
  readonly contentType?: string;
};

/**
 * Writes an answer in the form of a binding. The promise, if any, resolves once
 * a whole stream is written.
 *
 * Rejects when a stream fails before its first frame: the caller can still
 * answer with an error of its own.
 */
export function writeAnswer(
  { response, takeHeaders }: RoutedCall,
  answer: Answer,
  form: AnswerForm,
): Promise<void> | undefined {
  if (answer.case === "stream") {
    const { value, observed } = answer;
    return streamFrames(response, value, takeHeaders, { ...form, observed });
  }
  const body =
    form.body?.(answer.value) ?? form.wrap(JSON.stringify(answer.value));
  send(response, 200, {
    body,
    "content-type": form.contentType,
    ...takeHeaders(),
  });
  return undefined;
}
