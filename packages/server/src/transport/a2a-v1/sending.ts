import { keepStart } from "@devtool/internal/cut-text";
import { takesMode } from "@devtool/internal/output-mode";
import {
  awaitedToolCalls,
  confirmationsOf,
  emptyTask,
  isTerminal,
  lastStepIndex,
  type SendMessageRequest,
  type Task,
} from "@devtool/schema";
import {
  type A2aPart,
  type A2aSendMessageRequest,
  sendRequestFromA2a,
} from "@devtool/schema/a2a-v1";
import { neededMessages } from "@devtool/schema/a2a-v03";
import { invalid } from "../../errors.ts";
import { findTask } from "../../handler/request-handler.ts";
import { viewOf } from "../a2a/activation.ts";
import { outputRefusal } from "../a2a/output-modes.ts";
import { withPlainAnswer } from "../a2a/plain-answer.ts";
import { withRecipient } from "../a2a/recipient.ts";
import type { A2aV1Call } from "./call.ts";
import { A2aFailure } from "./errors.ts";
import type { A2aServiceOptions } from "./options.ts";
import { configFromA2a } from "./push-configs.ts";

/** A message that may be sent, in terms of our own services. */
export interface Sending {
  readonly request: SendMessageRequest;
  /**
   * The task that the message goes to, before the message is sent; empty for a
   * new task.
   */
  readonly before: Task;
  /**
   * Maximum number of messages in the history of the answer.
   *
   * Undefined for the history of the exchange.
   */
  readonly historyLength: number | undefined;
}

/** Throws for a negative limit of the history. */
export function assertHistoryLength(
  historyLength: number | undefined,
  field: string,
): void {
  if (historyLength === undefined || historyLength >= 0) return;
  throw invalid(field, String(historyLength), "must be 0 or more");
}

/** Checks a message, and returns our own request for it. */
export async function readSending(
  options: A2aServiceOptions,
  asked: A2aSendMessageRequest,
  call: A2aV1Call,
): Promise<Sending> {
  const {
    historyLength,
    acceptedOutputModes = [],
    taskPushNotificationConfig,
  } = asked.configuration ?? {};
  assertHistoryLength(historyLength, "configuration.historyLength");
  const agent = options.agents?.get(call.agent) ?? options;
  const refusal = outputRefusal(acceptedOutputModes, agent.outputModes);
  if (refusal !== undefined) {
    const accepted = acceptedOutputModes.join(", ");
    throw new A2aFailure(refusal, "CONTENT_TYPE_NOT_SUPPORTED", {
      acceptedOutputModes: accepted,
    });
  }
  assertInputModes(asked.message?.parts ?? [], options.inputModes ?? []);
  const sent = sendRequestFromA2a(asked);
  const request: SendMessageRequest = {
    ...(options.contextAlone === "continue"
      ? await withRecipient(options.handler, sent, call.context)
      : sent),
    activateExtension: call.activates,
  };
  if (taskPushNotificationConfig) {
    request.pushConfig = configFromA2a(taskPushNotificationConfig, call);
  }
  if (request.taskId === "") {
    return { request, before: emptyTask(), historyLength };
  }
  const before = await findTask(
    options.handler,
    call,
    request.taskId,
    historyLength === undefined
      ? sinceLastStep
      : (task) => neededMessages(task, { historyLength }),
  );
  if (request.message && call.view !== "extension") {
    const view = viewOf(call.view, before);
    request.message = withPlainAnswer(request.message, before, view);
  }
  return isTerminal(before.state)
    ? continueEnded(request, before, historyLength, options)
    : { request, before, historyLength };
}

/**
 * Throws when a part of a message has a media type that the server does not
 * accept (section 3.1.1). No input modes accept all types.
 */
function assertInputModes(
  parts: readonly A2aPart[],
  inputModes: readonly string[],
): void {
  const mediaTypes = parts.map(({ mediaType, metadata }) => {
    // Some clients write the media type of data into its metadata.
    const { contentType } = metadata ?? {};
    return mediaType !== "" || typeof contentType !== "string"
      ? mediaType
      : contentType;
  });
  const unaccepted = mediaTypes.find(
    (type) => type !== "" && !takesMode(inputModes, type),
  );
  if (unaccepted === undefined) return;
  const message = `media type ${JSON.stringify(keepStart(unaccepted, 80))} is not supported: send ${inputModes.join(" or ")}`;
  throw new A2aFailure(message, "CONTENT_TYPE_NOT_SUPPORTED", {
    mediaType: unaccepted,
  });
}

/**
 * Returns the request for a message to a task that has ended.
 *
 * Such a task is closed in A2A 1.0 (section 3.4): the message begins a new task
 * in the same context, which refers to the ended one (STREAM-5). A message that
 * the ended task has already is a retry, for which the handler finds the
 * exchange.
 */
function continueEnded(
  request: SendMessageRequest,
  before: Task,
  historyLength: number | undefined,
  { endedTask }: A2aServiceOptions,
): Sending {
  const { message, contextId } = request;
  if (contextId !== "" && contextId !== before.contextId) {
    const problem = `is not the context of task ${JSON.stringify(before.id)}`;
    throw invalid(
      "message.contextId",
      contextId,
      problem,
      "send its own, or none",
    );
  }
  const recorded = before.history.find(
    ({ messageId }) => messageId === message?.messageId,
  );
  const isAnswerAgain =
    recorded !== undefined && confirmationsOf(recorded).length > 0;
  if (endedTask === "refuse" && !isAnswerAgain) {
    throw endedError(
      before,
      "send the message with its contextId, with its id in referenceTaskIds and without taskId",
    );
  }
  // An answer to an approval belongs to the ended task, whose handler reports
  // what became of the approval (TOOL-5).
  if (!message || recorded || confirmationsOf(message).length > 0) {
    return { request, before, historyLength };
  }
  const referenceTaskIds = [
    ...new Set([...message.referenceTaskIds, before.id]),
  ];
  return {
    request: {
      ...request,
      taskId: "",
      contextId: before.contextId,
      message: { ...message, referenceTaskIds },
    },
    before: emptyTask(),
    historyLength,
  };
}

/** Returns the error for a task that has ended. */
export function endedError({ id }: Task, remedy: string): A2aFailure {
  const message = `task ${JSON.stringify(id)} has ended: ${remedy}`;
  return new A2aFailure(message, "UNSUPPORTED_OPERATION", { taskId: id });
}

/** The messages that may belong to the exchange of the next message. */
function sinceLastStep(task: Task): number {
  // Only an exchange with answers begins before its message.
  if (awaitedToolCalls(task).length === 0) return 0;
  return task.history.length - Math.max(0, lastStepIndex(task));
}
