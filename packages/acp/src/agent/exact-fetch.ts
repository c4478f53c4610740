import { quoteInexactNumbers } from "@devtool/internal/exact-json";
import { markLongIds, unmarkLongIds } from "@devtool/internal/long-ids";
import { DATA } from "./message-reader.ts";

/**
 * The `fetch` for `createHttpStream` of `@agentclientprotocol/sdk` with which
 * numbers keep their digits as over standard streams: those in the data of tools
 * become strings, and long ids of requests come back as they were sent.
 */
export const exactFetch: typeof fetch = async (input, init) => {
  const body = init?.body;
  const response = await fetch(
    input,
    typeof body === "string" ? { ...init, body: unmarkLongIds(body) } : init,
  );
  const { body: answer, status, statusText, headers } = response;
  const type = headers.get("content-type") ?? "";
  if (!answer || !/^text\/event-stream\b/i.test(type)) return response;
  const lines = answer
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(exactLines())
    .pipeThrough(new TextEncoderStream());
  return new Response(lines, { status, statusText, headers });
};

/** Changes the JSON in the lines of an event stream. */
function exactLines(): TransformStream<string, string> {
  let open = "";
  const exact = (lines: string): string =>
    lines
      .split("\n")
      .map((line) => markLongIds(quoteInexactNumbers(line, DATA)))
      .join("\n");
  return new TransformStream({
    transform(chunk, controller) {
      const end = chunk.lastIndexOf("\n") + 1;
      if (end > 0) {
        controller.enqueue(exact(open + chunk.slice(0, end)));
        open = "";
      }
      open += chunk.slice(end);
    },
    flush: (controller) => controller.enqueue(exact(open)),
  });
}
