import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * A Gemini API that answers with the JSON that it is given, whatever it is
 * asked.
 */
export interface RawGemini extends Disposable {
  readonly url: string;
  /**
   * The next answers: the text of `parts` of each, in turn; after the last it
   * says that it is done.
   */
  play(...answers: readonly string[]): void;
}

/** Starts one on loopback. */
export async function startRawGemini(): Promise<RawGemini> {
  const answers: string[] = [];
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      const parts = answers.shift() ?? '[{"text":"Done."}]';
      response.setHeader("content-type", "text/event-stream");
      response.end(
        `data: {"candidates":[{"content":{"role":"model","parts":${parts}},"finishReason":"STOP"}]}\n\n`,
      );
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address: AddressInfo | string | null = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  return {
    url: `http://127.0.0.1:${port}`,
    play: (...next) => void answers.splice(0, answers.length, ...next),
    [Symbol.dispose]: () => void server.close(),
  };
}
