import type { JsonValue } from "@bufbuild/protobuf";
import { isObject, objectOrEmpty, stringOrEmpty } from "@devtool/internal/json";
import { emptyTask, type Task } from "@devtool/schema";
import { decodeTaskId, decodeTaskQuery } from "@devtool/schema/a2a-v03";
import {
  encodeGeminiCliTask,
  isGeminiCliSend,
} from "@devtool/schema/gemini-cli";
import { principalOf } from "../../handler/caller.ts";
import { findTask } from "../../handler/request-handler.ts";
import {
  type Answer,
  cancelTask,
  type Method,
  type MethodCall,
  type MethodDialect,
} from "../a2a/method.ts";
import { subscriptionFrames } from "../a2a/subscription.ts";
import { eventFrame, withClientId } from "./frames.ts";
import {
  beginPromised,
  exchangeFrames,
  type GeminiCliServiceOptions,
  readSending,
} from "./messages.ts";

/**
 * The methods of A2A 0.3 in the dialect of Gemini CLI's own server.
 *
 * It takes calls of clients that show by a message that they use the dialect,
 * and calls about tasks for which they did. It never takes calls that use our
 * extension.
 */
export class GeminiCliService implements MethodDialect {
  readonly #options: GeminiCliServiceOptions;

  constructor(options: GeminiCliServiceOptions) {
    this.#options = options;
  }

  readonly takes = ({ view, params, context }: MethodCall): boolean => {
    if (view === "extension") return false;
    return (
      isGeminiCliSend(params) ||
      this.#options.tasks.usesDialect(taskIdIn(params), principalOf(context))
    );
  };

  async answer(
    name: string,
    call: MethodCall,
    method: Method,
  ): Promise<Answer> {
    const { handler, tasks } = this.#options;
    switch (name) {
      case "message/send":
        return this.#send(call);
      case "message/stream": {
        const sending = await readSending(this.#options, call);
        const { request } = sending;
        const value = await beginPromised(tasks, sending, () =>
          exchangeFrames(
            handler.tasks.streamMessage({ request }, call.context),
            sending,
          ),
        );
        return { case: "stream", value };
      }
      case "tasks/get": {
        const { taskId, historyLength } = decodeTaskQuery(call.params);
        const id = tasks.resolve(taskId);
        const messages = lastMessages(historyLength);
        const task = await findTask(handler, call, id, messages);
        return this.#taskAnswer(task, call, taskId, historyLength);
      }
      case "tasks/cancel": {
        const clientId = decodeTaskId(call.params);
        const task = await cancelTask(handler, call, tasks.resolve(clientId));
        return this.#taskAnswer(task, call, clientId);
      }
      case "tasks/resubscribe":
        return this.#resubscribe(call);
      default: {
        // The dialect has no form of its own for this method, which takes the
        // real id of the task in place of the client's.
        const clientId = taskIdIn(call.params);
        const taskId = tasks.resolve(clientId);
        if (taskId === clientId) return method(call);
        const answer = await method({
          ...call,
          params: { ...objectOrEmpty(call.params), id: taskId },
        });
        if (
          answer.case === "stream" ||
          !isObject(answer.value) ||
          answer.value.taskId !== taskId
        ) {
          return answer;
        }
        return { case: "result", value: { ...answer.value, taskId: clientId } };
      }
    }
  }

  async #send(call: MethodCall): Promise<Answer> {
    const { handler, tasks } = this.#options;
    const sending = await readSending(this.#options, call);
    const { clientId, historyLength } = sending;
    const { task = emptyTask() } = await beginPromised(tasks, sending, () =>
      handler.tasks.sendMessage(sending.request, call.context),
    );
    sending.note(task.id);
    // The answer holds the history of its exchange only. A client that limits
    // the length means the whole task.
    const history =
      historyLength === undefined
        ? task.history
        : (await findTask(handler, call, task.id, lastMessages(historyLength)))
            .history;
    return this.#taskAnswer(
      { ...task, history },
      call,
      clientId,
      historyLength,
    );
  }

  async #resubscribe(call: MethodCall): Promise<Answer> {
    const { handler, tasks } = this.#options;
    const clientId = decodeTaskId(call.params);
    const task = await findTask(handler, call, tasks.resolve(clientId));
    tasks.note(task.id, principalOf(call.context));
    const start = { task, after: call.lastEventId };
    const value = subscriptionFrames(handler, call, start, {
      task: (current) => encodeGeminiCliTask(withClientId(current, clientId)),
      event: (event) => eventFrame(event, clientId),
    });
    return { case: "stream", value };
  }

  /**
   * Returns a task under the id by which its client knows it; an empty id
   * stands for a task that is new to the client.
   */
  #taskAnswer(
    task: Task,
    call: MethodCall,
    clientId: string,
    historyLength?: number,
  ): Answer {
    this.#options.tasks.note(task.id, principalOf(call.context));
    const value = encodeGeminiCliTask(
      withClientId(task, clientId || task.id),
      historyLength,
    );
    return { case: "result", value };
  }
}

/** The messages that an answer has; undefined for all. */
function lastMessages(historyLength: number | undefined) {
  return historyLength === undefined ? undefined : () => historyLength;
}

/**
 * Returns the id of the task that parameters name; empty when they name none.
 */
function taskIdIn(params: JsonValue | undefined): string {
  const { message, id } = objectOrEmpty(params);
  return stringOrEmpty(objectOrEmpty(message).taskId ?? id);
}
