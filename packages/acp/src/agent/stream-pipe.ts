import type { Stream } from "@agentclientprotocol/sdk";
import { markLongIds } from "@devtool/internal/long-ids";
import { isRounded, LONG_ID_REFUSAL } from "../long-id.ts";
import type { AcpPipe } from "./acp-agent-options.ts";

/**
 * Returns the pipe of an agent that a stream of `@agentclientprotocol/sdk`
 * reaches, such as its client for Streamable HTTP.
 *
 * The agent counts as ended when the stream closes or fails. Disposing of the
 * pipe cancels the stream and does not wait for the agent.
 *
 * ```ts
 * acpAgent({ name: "remote", command: async () => streamPipe(createHttpStream("https://agents.example/acp", { fetch: exactFetch })) });
 * ```
 */
export function streamPipe({ readable, writable }: Stream): AcpPipe {
  const reader = readable.getReader();
  const writer = writable.getWriter();
  const ended = Promise.withResolvers<string>();
  const fail = (reason: unknown): void =>
    ended.resolve(`its connection failed: ${String(reason)}`);
  let unreadBytes = 0;

  async function* read(): AsyncGenerator<Uint8Array> {
    try {
      for (
        let next = await reader.read();
        !next.done;
        next = await reader.read()
      ) {
        if (isRounded(next.value)) {
          await writer.write(LONG_ID_REFUSAL);
          continue;
        }
        yield Buffer.from(`${JSON.stringify(next.value)}\n`);
      }
      ended.resolve("it closed its connection");
    } catch (reason) {
      fail(reason);
    }
  }

  return {
    output: read(),
    write(line) {
      unreadBytes += line.length;
      const written = writer.write(JSON.parse(markLongIds(line)));
      written.then(() => (unreadBytes -= line.length)).catch(fail);
      return true;
    },
    get unreadBytes() {
      return unreadBytes;
    },
    ended: ended.promise,
    async [Symbol.asyncDispose]() {
      ended.resolve("it was stopped");
      // Not waited for: an agent that hangs answers neither what it was sent
      // nor the end of its connection.
      reader.cancel().catch(fail);
      writer.abort().catch(fail);
    },
  };
}
