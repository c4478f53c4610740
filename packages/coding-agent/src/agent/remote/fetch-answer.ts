import { isUtf8 } from "node:buffer";
import { replaceLoneSurrogates } from "@devtool/internal/exact-json";
import { Code } from "@devtool/server/agent";
import type { ApiForm } from "./event-stream.ts";
import { httpFault } from "./http-fault.ts";
import { brokenFault, ModelFault } from "./model-fault.ts";
import { readList, readStream } from "./read-answer.ts";

/**
 * The maximum size of a piece of an answer, in bytes: larger than any that can
 * be used.
 */
const MAX_PIECE_BYTES = 4 * 1024 * 1024;

/**
 * The maximum size of an answer, in bytes: three times what an answer of
 * 128,000 tokens takes, each in a piece of its own.
 */
const MAX_ANSWER_BYTES = 128 * 1024 * 1024;

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** A `fetch` for the SDK of a model's API. */
export type FetchAnswer = (
  input: string | URL | Request,
  init?: RequestInit,
) => Promise<Response>;

/**
 * Creates the `fetch` for an SDK. It resolves to an answer whose status is 2xx
 * and whose body is JSON, where the request has none, or events in the form
 * that every SDK reads.
 *
 * It rejects with a `ModelFault` for any other status, because the errors of
 * the SDKs lack the headers, which say how long to wait. The body fails with a
 * `ModelFault` at bytes that are not UTF-8, which the SDKs would replace by
 * other characters, and where a piece has more than 4 MiB or the whole more
 * than 128 MiB.
 */
export function createFetchAnswer(api: ApiForm): FetchAnswer {
  const { readError, hidesFaults = false } = api;
  return async (input, init) => {
    try {
      // A redirect is a fault: following it would send the key to another host.
      const request: RequestInit = { ...init, redirect: "manual" };
      if (typeof request.body === "string") {
        request.body = replaceLoneSurrogates(request.body);
      }
      const response = await fetch(input, request);
      if (!response.ok) throw await httpFault(response, readError);
      const { body, headers } = response;
      if (!body) return new Response(null);
      const mediaType = headers.get("content-type") ?? "";
      const answer = { lines: wholeLines(body), mediaType };
      // Lists of models are asked for without a body.
      const read = request.body
        ? readStream(answer, api)
        : readList(answer, api);
      // No other header: Google's SDK copies them for each piece.
      return new Response(ReadableStream.from(read), {
        headers: { "content-type": mediaType },
      });
    } catch (reason) {
      const fault = ModelFault.from(reason);
      throw hidesFaults ? new Error("no answer", { cause: fault }) : fault;
    }
  };
}

/**
 * Splits the text of a body after line ends.
 *
 * No character is cut then, and an SDK that searches its whole buffer with
 * every chunk takes linear time. Only the last chunk may lack a line end.
 */
async function* wholeLines(
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let unfinished: Uint8Array[] = [];
  let [lineBytes, pieceBytes, answerBytes] = [0, 0, 0];
  for await (const bytes of body) {
    answerBytes += bytes.length;
    if (answerBytes > MAX_ANSWER_BYTES) {
      throw sizeFault("the model's answer", MAX_ANSWER_BYTES);
    }
    const end =
      Math.max(bytes.lastIndexOf(NEWLINE), bytes.lastIndexOf(CARRIAGE_RETURN)) +
      1;
    if (end > 0) {
      const lines = Buffer.concat([...unfinished, bytes.subarray(0, end)]);
      [unfinished, lineBytes] = [[], 0];
      const pieceStart = endOfLastPiece(lines);
      pieceBytes =
        lines.length - pieceStart + (pieceStart === 0 ? pieceBytes : 0);
      for (const valid of validLines(lines)) {
        yield decoder.decode(valid, { stream: true });
      }
    }
    unfinished.push(bytes.subarray(end));
    lineBytes += bytes.length - end;
    if (pieceBytes + lineBytes > MAX_PIECE_BYTES) {
      throw sizeFault("a piece of the model's answer", MAX_PIECE_BYTES);
    }
  }
  const rest = Buffer.concat(unfinished);
  // A character that is cut belongs to a line that is.
  if (isUtf8(rest)) yield decoder.decode(rest);
}

/**
 * Returns where the last empty line ends, which ends a piece; 0 when there is
 * none. An SDK keeps all lines until then.
 */
function endOfLastPiece(lines: Buffer): number {
  let end = 0;
  for (const blank of ["\n\n", "\n\r\n", "\r\r"]) {
    const at = lines.lastIndexOf(blank);
    if (at >= 0) end = Math.max(end, at + blank.length);
  }
  // The newline before the first line came earlier.
  if (end === 0 && lines[0] === NEWLINE) return 1;
  if (end === 0 && lines[0] === CARRIAGE_RETURN && lines[1] === NEWLINE) {
    return 2;
  }
  return end;
}

function sizeFault(subject: string, limit: number): ModelFault {
  return new ModelFault(
    `${subject} has more than ${limit} bytes: limit is ${limit}`,
    Code.ResourceExhausted,
  );
}

/**
 * Yields the lines before the first one that is not UTF-8, and throws at that
 * line.
 */
function* validLines(lines: Uint8Array): Iterable<Uint8Array> {
  if (isUtf8(lines)) return yield lines;
  for (let from = 0, end = 0; ; from = end) {
    end = lines.indexOf(NEWLINE, from) + 1 || lines.length;
    const line = lines.subarray(from, end);
    if (!isUtf8(line)) throw brokenFault("the model's answer is not UTF-8");
    yield line;
  }
}
