import type { MessageInitShape } from "@bufbuild/protobuf";
import { PushFormat, type SendMessageRequest, type TaskService } from "@devtool/schema";
import { decodeMessageSend } from "@devtool/schema/a2a-v03";
import { rfcSendParams, settingsOf } from "@devtool/schema/gemini-cli";
import { principalOf } from "../../handler/caller.ts";
import { assertTakesOutput, eventOf, findTask, type MethodCall } from "../a2a/method.ts";
import type { Frame } from "../http/answer.ts";
import { eventFrame } from "./frames.ts";
import type { GeminiCliTasks, PromisedTask } from "./gemini-cli-tasks.ts";
import type { GeminiCliServiceOptions } from "./options.ts";
import { withOfferedOutcomes } from "./outcomes.ts";

type StreamResponse = MessageInitShape<typeof TaskService.method.streamMessage.output>;

/** A message that is sent: what was asked for in our own terms. */
export interface Sending {
  readonly request: SendMessageRequest;
  readonly historyLength: number | undefined;
  /** The id that the client has of its task; empty when it has none yet. */
  readonly clientId: string;
  /** The promised task that the message begins; undefined when it begins none. */
  readonly promised: PromisedTask | undefined;
  /** Notes the id that the task has. */
  readonly note: (taskId: string) => void;
}

/** Reads the parameters of a message. Throws a `WireError` that names the field. */
export async function readSending(
  { handler, tasks, outputModes }: GeminiCliServiceOptions,
  call: MethodCall,
): Promise<Sending> {
  const principal = principalOf(call.context);
  const { request: asked, historyLength, pushConfig } = decodeMessageSend(rfcSendParams(call.params));
  const clientId = asked.taskId;
  const promised = tasks.findPromised(clientId, principal);
  assertTakesOutput(asked.message?.acceptedOutputModes ?? [], outputModes);
  const taskId = promised ? "" : tasks.resolve(clientId);
  const request: SendMessageRequest = {
    ...(promised ? asPromised(asked, promised) : asked),
    taskId,
    activateExtension: call.activates,
    ...(pushConfig && { pushConfig: { ...pushConfig, taskId, format: PushFormat.A2A_V03_PLAIN } }),
  };
  const note = (found: string): void => {
    if (promised) tasks.begin(promised, found);
    tasks.note(found, principal);
  };
  const sending = { historyLength, clientId, promised, note };
  if (taskId === "" || !request.message) return { ...sending, request };
  const message = withOfferedOutcomes(request.message, await findTask(handler, call, taskId));
  return { ...sending, request: { ...request, message } };
}

/** A message in the context and with the settings of the task that it begins. */
function asPromised(request: SendMessageRequest, { contextId, settings }: PromisedTask): SendMessageRequest {
  if (!settings) return { ...request, contextId };
  const { settings: _own, sessionSettings: _session, ...rest } = request;
  return { ...rest, contextId, ...settingsOf(settings) };
}

/** Begins the task of a promise, so that no second message does; when the message is refused, the promise stands. */
export async function whenBegun<T>(
  tasks: GeminiCliTasks,
  { promised }: Sending,
  begin: () => T | Promise<T>,
): Promise<T> {
  if (!promised) return begin();
  tasks.take(promised);
  try {
    return await begin();
  } catch (reason) {
    tasks.giveBack(promised);
    throw reason;
  }
}

/** The frames of an exchange. Waits for the first response: what is refused is refused before it. */
export async function exchangeFrames(
  responses: AsyncIterable<StreamResponse>,
  sending: Sending,
): Promise<AsyncIterable<Frame>> {
  const iterator = responses[Symbol.asyncIterator]();
  return framesOf(iterator, await iterator.next(), sending);
}

async function* framesOf(
  iterator: AsyncIterator<StreamResponse>,
  first: IteratorResult<StreamResponse>,
  { clientId, note }: Sending,
): AsyncIterable<Frame> {
  try {
    let isNoted = false;
    for (let next = first; !next.done; next = await iterator.next()) {
      if (!next.value.event) continue;
      const event = eventOf(next.value.event);
      if (!isNoted) note(event.taskId);
      isNoted = true;
      const frame = eventFrame(event, clientId || event.taskId);
      if (frame) yield frame;
    }
  } finally {
    await iterator.return?.();
  }
}
