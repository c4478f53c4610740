import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { TaskService } from "@devtool/schema";
import type { Replay } from "./replay.ts";

/** A conversation as our own service, for Connect, gRPC and gRPC-Web. */
export function replayService(replay: Replay): Partial<ServiceImpl<typeof TaskService>> {
  return {
    sendMessage(request) {
      replay.take(request);
      return { task: replay.task(replay.log[0]?.taskId ?? "") };
    },
    async *streamMessage({ request }) {
      if (!request) throw replay.refused("the request is empty");
      for (const event of replay.exchange(replay.take(request))) yield { event };
    },
    getTask: ({ taskId }) => ({ task: replay.task(taskId) }),
    async *subscribeTask({ taskId, afterSequence }, { signal }: HandlerContext) {
      replay.task(taskId);
      for await (const event of replay.follow(afterSequence, signal)) yield { event };
    },
  };
}
