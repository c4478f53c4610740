import { Code, ConnectError } from "@connectrpc/connect";
import { isObject } from "@devtool/internal/json";
import {
  type EventSourceMessage,
  EventSourceParserStream,
} from "eventsource-parser/stream";
import type { Frame } from "./rpc-endpoint.ts";
import { parseAnswer, waitFor } from "./wire.ts";

/**
 * Maximum length of a frame in characters: room for the largest request
 * devtool's server accepts, repeated in an event.
 */
const MAX_FRAME_CHARS = 32 * 1024 * 1024;

/**
 * Whether a response is a stream of server-sent events.
 */
export function isEventStream({ headers }: Response): boolean {
  const type = headers.get("content-type") ?? "";
  return /^\s*text\/event-stream\s*(;|$)/i.test(type);
}

/**
 * Yields the JSON of each server-sent event of a response as it arrives. One
 * that is not valid JSON has no result. Events without content are skipped:
 * those that only keep a connection alive, and the end mark of other protocols.
 *
 * Throws as `waitFor` does, and for an event called `error` with a text. Leaving the loop
 * closes the connection.
 */
export async function* readServerSentEvents(
  response: Response,
  signal: AbortSignal,
): AsyncIterable<Frame> {
  const messages = withWholeCharacters(contentOf(response, signal));
  for await (const { data, id, event } of messages) {
    const frame = readJson(data);
    if (event === "error" && !isObject(frame.result)) {
      throw new ConnectError(`the agent failed: ${data.trim()}`, Code.Internal);
    }
    yield { ...frame, id };
  }
}

async function* contentOf(
  response: Response,
  signal: AbortSignal,
): AsyncIterable<EventSourceMessage> {
  for await (const message of readMessages(response, signal)) {
    const data = message.data.trim();
    const isEmpty = data === "" || data === "[DONE]";
    if (!isEmpty && !KEEP_ALIVE.test(message.event ?? "")) yield message;
  }
}

/**
 * Joins the halves of a character that end a string of one event and begin one
 * of the next: the first half moves on. An event that ends so waits for its
 * next.
 */
async function* withWholeCharacters(
  messages: AsyncIterable<EventSourceMessage>,
): AsyncIterable<EventSourceMessage> {
  let held: EventSourceMessage | undefined;
  for await (const message of messages) {
    let { data } = message;
    const half = held && FIRST_HALF.exec(held.data)?.[1];
    if (held && half !== undefined && SECOND_HALF.test(data)) {
      yield { ...held, data: held.data.replaceAll(`${half}"`, '"') };
      data = data.replaceAll(new RegExp(SECOND_HALF, "g"), `"${half}`);
    } else if (held) {
      yield held;
    }
    held = { ...message, data };
    if (FIRST_HALF.test(data)) continue;
    yield held;
    held = undefined;
  }
  if (held) yield held;
}

/**
 * The escape of the first half of a character at the end of a JSON string that
 * is a value. It looks back only from an escape, so that long runs cost no more
 * than their length.
 */
const FIRST_HALF =
  /(\\u[dD][89abAB][\da-fA-F]{2})(?<=(?<!\\)(?:\\\\)*\1)"(?!\s*:)/;
/** The start of a JSON value that begins with the second half of a character. */
const SECOND_HALF = /"(?=\\u[dD][c-fC-F][\da-fA-F]{2})(?<=[:[,]\s*")/;

const KEEP_ALIVE = /^(ping|heartbeat|keep-?alive)$/i;

function readJson(data: string): Omit<Frame, "id"> {
  try {
    return { result: parseAnswer(data) };
  } catch (reason) {
    return {
      result: undefined,
      leftOut: [ConnectError.from(reason).rawMessage],
    };
  }
}

async function* readMessages(
  response: Response,
  signal: AbortSignal,
): AsyncIterable<EventSourceMessage> {
  const parser = new EventSourceParserStream({
    maxBufferSize: MAX_FRAME_CHARS,
  });
  const reader = response.body
    ?.pipeThrough(new TextDecoderStream())
    .pipeThrough(parser)
    .getReader();
  if (!reader) return;
  try {
    for (;;) {
      const { done, value } = await waitFor(reader.read(), signal);
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
