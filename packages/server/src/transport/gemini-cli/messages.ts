import type { MessageShape } from "@bufbuild/protobuf";
import { defined } from "@devtool/internal/json";
import {
  PushFormat,
  type SendMessageRequest,
  type TaskService,
} from "@devtool/schema";
import { decodeMessageSend } from "@devtool/schema/a2a-v03";
import {
  rfcSendParams,
  settingsFromGeminiCli,
} from "@devtool/schema/gemini-cli";
import { principalOf } from "../../handler/caller.ts";
import {
  findTask,
  type RequestHandler,
} from "../../handler/request-handler.ts";
import { assertTakesOutput, type MethodCall } from "../a2a/method.ts";
import type { Frame } from "../http/answer.ts";
import { eventFrame } from "./frames.ts";
import type { GeminiCliTasks, PromisedTask } from "./gemini-cli-tasks.ts";
import { withOfferedOutcomes } from "./outcomes.ts";

type StreamResponse = MessageShape<
  typeof TaskService.method.streamMessage.output
>;

/** Dependencies of `GeminiCliService`. */
export interface GeminiCliServiceOptions {
  readonly handler: RequestHandler;

  readonly tasks: GeminiCliTasks;

  /**
   * The media types of the agent's answers. Default: text, Markdown and JSON.
   */
  readonly outputModes?: readonly string[] | undefined;
}

/** A message that may be sent, in terms of our own services. */
export interface Sending {
  readonly request: SendMessageRequest;

  readonly historyLength: number | undefined;

  /** The id by which the client knows the task; empty for a new task. */
  readonly clientId: string;

  /**
   * The promised task that the message begins; undefined for a message that
   * begins none.
   */
  readonly promised: PromisedTask | undefined;

  /** Records the id of the task, once it is known. */
  readonly note: (taskId: string) => void;
}

/**
 * Reads the parameters of a message. Throws a `WireError` that names the field.
 */
export async function readSending(
  { handler, tasks, outputModes }: GeminiCliServiceOptions,
  call: MethodCall,
): Promise<Sending> {
  const principal = principalOf(call.context);
  const {
    request: asked,
    historyLength,
    pushConfig,
  } = decodeMessageSend(rfcSendParams(call.params));
  const clientId = asked.taskId;
  const promised = tasks.findPromised(clientId, principal);
  assertTakesOutput(asked.message?.acceptedOutputModes ?? [], outputModes);
  const taskId = promised ? "" : tasks.resolve(clientId);
  const { settings, sessionSettings, ...rest } = asked;
  const request: SendMessageRequest = {
    ...rest,
    // The settings with which a task was promised replace those of its first
    // message.
    ...(promised?.settings
      ? settingsFromGeminiCli(promised.settings)
      : defined({ settings, sessionSettings })),
    contextId: promised?.contextId ?? asked.contextId,
    taskId,
    activateExtension: call.activates,
  };
  if (pushConfig) {
    request.pushConfig = {
      ...pushConfig,
      taskId,
      format: PushFormat.A2A_V03_PLAIN,
    };
  }
  if (taskId !== "" && request.message) {
    request.message = withOfferedOutcomes(
      request.message,
      await findTask(handler, call, taskId),
    );
  }
  const note = (found: string): void => {
    if (promised) tasks.begin(promised, found);
    tasks.note(found, principal);
  };
  return { request, historyLength, clientId, promised, note };
}

/**
 * Sends the message that begins a promised task.
 *
 * Meanwhile no other message can begin it, and it stays promised if this one
 * fails.
 */
export async function beginPromised<T>(
  tasks: GeminiCliTasks,
  { promised }: Sending,
  send: () => T | Promise<T>,
): Promise<T> {
  if (!promised) return send();
  tasks.take(promised);
  try {
    return await send();
  } catch (reason) {
    tasks.giveBack(promised);
    throw reason;
  }
}

/**
 * Resolves to the frames of an exchange once its first response is there, so
 * that a refusal of the message rejects here.
 */
export async function exchangeFrames(
  responses: AsyncIterable<StreamResponse>,
  { clientId, note }: Sending,
): Promise<AsyncIterable<Frame>> {
  const iterator = responses[Symbol.asyncIterator]();
  const first = await iterator.next();
  return (async function* () {
    try {
      let isNoted = false;
      for (let next = first; !next.done; next = await iterator.next()) {
        const { event } = next.value;
        if (!event) continue;
        if (!isNoted) note(event.taskId);
        isNoted = true;
        const frame = eventFrame(event, clientId || event.taskId);
        if (frame) yield frame;
      }
    } finally {
      await iterator.return?.();
    }
  })();
}
