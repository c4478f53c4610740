import { create, type JsonValue } from "@bufbuild/protobuf";
import { StreamMessageRequestSchema, type Task, TaskSchema } from "@devtool/schema";
import { decodeTaskId, decodeTaskQuery } from "@devtool/schema/a2a-v03";
import { encodeGeminiCliTask, isGeminiCliSend } from "@devtool/schema/gemini-cli";
import { isObject, objectOrEmpty, stringOrEmpty } from "@devtool/schema/json";
import { principalOf } from "../../handler/caller.ts";
import { cancelTask, findTask, type Method, type MethodCall, type MethodDialect } from "../a2a/method.ts";
import { subscriptionFrames } from "../a2a/subscription.ts";
import type { Answer } from "../http/answer.ts";
import { eventFrame, taskUnder } from "./frames.ts";
import { exchangeFrames, readSending, whenBegun } from "./messages.ts";
import type { GeminiCliServiceOptions } from "./options.ts";

/**
 * The methods of A2A 0.3 in the dialect of Gemini CLI's own server. A client that activates our extension, and one that
 * says nothing of either, is not answered here.
 */
export class GeminiCliService implements MethodDialect {
  readonly #options: GeminiCliServiceOptions;

  constructor(options: GeminiCliServiceOptions) {
    this.#options = options;
  }

  readonly takes = ({ view, params, context }: MethodCall): boolean => {
    if (view === "extension") return false;
    return isGeminiCliSend(params) || this.#options.tasks.isSpoken(taskIdIn(params), principalOf(context));
  };

  async answer(name: string, call: MethodCall, method: Method): Promise<Answer> {
    switch (name) {
      case "message/send":
        return this.#send(call);
      case "message/stream":
        return this.#stream(call);
      case "tasks/get": {
        const { taskId, historyLength } = decodeTaskQuery(call.params);
        return this.#found(await this.#find(taskId, call), { call, clientId: taskId, historyLength });
      }
      case "tasks/cancel": {
        const clientId = decodeTaskId(call.params);
        const { handler, tasks } = this.#options;
        const canceled = await cancelTask(handler, call, tasks.resolve(clientId));
        return this.#found(canceled, { call, clientId, historyLength: undefined });
      }
      case "tasks/resubscribe":
        return this.#resubscribe(decodeTaskId(call.params), call);
      default:
        return this.#answerOther(call, method);
    }
  }

  async #send(call: MethodCall): Promise<Answer> {
    const { handler, tasks } = this.#options;
    const sending = await readSending(this.#options, call);
    const { clientId, historyLength } = sending;
    const answer = await whenBegun(tasks, sending, () => handler.tasks.sendMessage(sending.request, call.context));
    const task = create(TaskSchema, answer.task);
    sending.note(task.id);
    // The answer has the history of its exchange; whoever counts messages counts those of the whole task.
    const history = historyLength === undefined ? task.history : (await findTask(handler, call, task.id)).history;
    return this.#found({ ...task, history }, { call, clientId, historyLength });
  }

  async #stream(call: MethodCall): Promise<Answer> {
    const { handler, tasks } = this.#options;
    const sending = await readSending(this.#options, call);
    const request = create(StreamMessageRequestSchema, { request: sending.request });
    const value = await whenBegun(tasks, sending, () =>
      exchangeFrames(handler.tasks.streamMessage(request, call.context), sending),
    );
    return { case: "stream", value };
  }

  async #resubscribe(clientId: string, call: MethodCall): Promise<Answer> {
    const task = await this.#find(clientId, call);
    this.#options.tasks.note(task.id, principalOf(call.context));
    const value = subscriptionFrames(
      this.#options.handler,
      call,
      { task, after: call.lastEventId },
      {
        task: (shown) => encodeGeminiCliTask(taskUnder(shown, clientId)),
        event: (event) => eventFrame(event, clientId),
      },
    );
    return { case: "stream", value };
  }

  /** A method that the dialect has no form of its own for, called with the id that its task has here. */
  async #answerOther(call: MethodCall, method: Method): Promise<Answer> {
    const clientId = taskIdIn(call.params);
    const taskId = this.#options.tasks.resolve(clientId);
    if (taskId === clientId) return method(call);
    const answer = await method({ ...call, params: { ...objectOrEmpty(call.params), id: taskId } });
    if (answer.case === "stream" || !isObject(answer.value) || answer.value.taskId !== taskId) return answer;
    return { case: "result", value: { ...answer.value, taskId: clientId } };
  }

  #find(clientId: string, call: MethodCall): Promise<Task> {
    const { handler, tasks } = this.#options;
    return findTask(handler, call, tasks.resolve(clientId));
  }

  /** A task as the answer to a call, under the id that its client knows; empty where it knows none yet. */
  #found(
    task: Task,
    {
      call,
      clientId,
      historyLength,
    }: { readonly call: MethodCall; readonly clientId: string; readonly historyLength: number | undefined },
  ): Answer {
    this.#options.tasks.note(task.id, principalOf(call.context));
    return { case: "result", value: encodeGeminiCliTask(taskUnder(task, clientId || task.id), historyLength) };
  }
}

/** The id of the task that parameters name; empty when they name none. */
function taskIdIn(params: JsonValue | undefined): string {
  const { message, id } = objectOrEmpty(params);
  return stringOrEmpty(objectOrEmpty(message).taskId ?? id);
}
