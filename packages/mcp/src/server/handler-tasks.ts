import type { HandlerContext } from "@connectrpc/connect";
import { Code, DevtoolError } from "@devtool/server/agent";
import { findTask, type RequestHandler } from "@devtool/server/dialect";
import type { PortTasks } from "./port.ts";

/**
 * Returns the tasks of the caller of a request. A call of them ends with its
 * own signal, and at the latest with the one that all of them share; only a
 * cancellation goes on then. What follows tasks with one signal counts as one
 * stream of the caller.
 */
export function handlerTasks(
  handler: RequestHandler,
  context: HandlerContext,
  end: AbortSignal,
): PortTasks {
  const contexts = new WeakMap<AbortSignal, HandlerContext>();
  const until = (signal: AbortSignal): HandlerContext => {
    const known = contexts.get(signal);
    if (known) return known;
    const made = withSignal(context, AbortSignal.any([end, signal]));
    contexts.set(signal, made);
    return made;
  };
  const { tasks } = handler;
  return {
    send: async (request, signal) => {
      const { task } = await tasks.sendMessage(request, until(signal));
      if (task) return task;
      throw new DevtoolError("the answer has no task", Code.Internal);
    },
    get: (taskId, signal) =>
      findTask(handler, { context: until(signal) }, taskId),
    follow: async function* (taskId, afterSequence, signal) {
      for await (const { event } of tasks.subscribeTask(
        { taskId, afterSequence },
        until(signal),
      )) {
        if (event) yield event;
      }
    },
    cancel: async (taskId, signal) => {
      await tasks.cancelTask({ taskId }, withSignal(context, signal));
    },
    list: (page, signal) => tasks.listTasks(page, until(signal)),
  };
}

function withSignal(
  context: HandlerContext,
  signal: AbortSignal,
): HandlerContext {
  const { url, requestMethod, protocolName, service, method, values } = context;
  const { requestHeader, responseHeader, responseTrailer } = context;
  return {
    ...{ url, requestMethod, protocolName, service, method, values, signal },
    ...{ requestHeader, responseHeader, responseTrailer },
    timeoutMs: () => context.timeoutMs(),
  };
}
