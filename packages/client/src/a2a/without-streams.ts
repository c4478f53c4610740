import { objectOrEmpty, stringOrEmpty } from "@devtool/internal/json";
import { isAtRest } from "@devtool/schema";
import { decodeState } from "@devtool/schema/a2a-v03";
import { backOff } from "../resume.ts";
import type { Answer, Frame } from "./rpc-endpoint.ts";
import type { TaskCalls } from "./task-calls.ts";

/**
 * Returns the calls for an agent that does not stream: a message is sent, which
 * the agent may answer at once, and its task is asked for until it rests.
 */
export function withoutStreams(calls: TaskCalls): TaskCalls {
  return {
    ...calls,
    async *stream(request, signal) {
      const sent = { ...request, returnImmediately: true };
      const answer = await calls.send(sent, signal);
      yield { ...answer, id: undefined };
      const { id, status } = objectOrEmpty(answer.result);
      // Anything but a task is all of the answer.
      if (status === undefined || rests(answer)) return;
      yield* pollTask(calls, stringOrEmpty(id), [], signal);
    },
    subscribe: (id, _lastEventId, signal) => pollTask(calls, id, [], signal),
  };
}

/**
 * Yields a task as it is, again and again until it rests. The first one has
 * `notices`, unless it rests already.
 */
export async function* pollTask(
  calls: TaskCalls,
  taskId: string,
  notices: readonly string[],
  signal: AbortSignal,
): AsyncIterable<Frame> {
  for (let retry = 0; ; retry++) {
    const answer = await calls.get(taskId, signal);
    const { result, leftOut = [] } = answer;
    const isRest = rests(answer);
    const told = retry === 0 && !isRest ? notices : [];
    yield { result, leftOut: [...told, ...leftOut], id: undefined };
    if (isRest) return;
    await backOff(retry, { baseDelayMs: 1000 }, signal);
  }
}

function rests({ result }: Answer): boolean {
  const { state } = objectOrEmpty(objectOrEmpty(result).status);
  return isAtRest(decodeState(stringOrEmpty(state)));
}
