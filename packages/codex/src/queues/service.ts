import type { ServiceImpl } from "@connectrpc/connect";
import { mergeReady } from "@devtool/internal/merge";
import type { SessionService } from "@devtool/schema/codex";
import type { RequestHandler } from "@devtool/server/dialect";
import { SessionStream } from "./session-stream.ts";

/**
 * Creates the handler of `SessionService`: a session is a task, which other
 * protocols may use at the same time.
 */
export function createSessionService(
  handler: RequestHandler,
): ServiceImpl<typeof SessionService> {
  return {
    async *openSession(requests, context) {
      const stop = new AbortController();
      // One context for all calls, so that they count as one stream.
      const own = {
        ...context,
        signal: AbortSignal.any([context.signal, stop.signal]),
      };
      using _stream = handler.streams.enter(own);
      const session = new SessionStream(handler, own, stop);
      for await (const events of mergeReady([
        session.submit(requests),
        session.follow(),
      ])) {
        for (const event of events) {
          yield { event };
          if (event.msg.case === "shutdownComplete") return;
        }
      }
    },
  };
}
