import type { ServiceImpl } from "@connectrpc/connect";
import type { TaskService } from "@devtool/schema";
import type { Replay } from "./replay.ts";

/**
 * Serves a recorded conversation as devtool's own service, for Connect, gRPC
 * and gRPC-Web.
 */
export function replayService(
  replay: Replay,
): Partial<ServiceImpl<typeof TaskService>> {
  return {
    sendMessage(request) {
      replay.acceptMessage(request);
      return { task: replay.task(replay.log[0]?.taskId ?? "") };
    },
    async *streamMessage({ request }) {
      if (!request) throw replay.reject("the request is empty");
      for (const event of replay.exchange(replay.acceptMessage(request))) {
        yield { event };
      }
    },
    getTask: ({ taskId }) => ({ task: replay.task(taskId) }),
    async *subscribeTask({ taskId, afterSequence }, { signal }) {
      replay.task(taskId);
      for await (const event of replay.follow(afterSequence, signal)) {
        yield { event };
      }
    },
  };
}
