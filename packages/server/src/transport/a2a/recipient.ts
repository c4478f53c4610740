import type { HandlerContext } from "@connectrpc/connect";
import { confirmationsOf, type SendMessageRequest } from "@devtool/schema";
import type { RequestHandler } from "../../handler/request-handler.ts";

/**
 * Returns a request whose message names a context alone with the task that
 * waits there, if exactly one does (STREAM-5). Other requests stay as they are,
 * and so does a fork, which is for no task.
 */
export async function withRecipient(
  { recipientOf }: RequestHandler,
  request: SendMessageRequest,
  context: HandlerContext,
): Promise<SendMessageRequest> {
  const { taskId, contextId, message, messageSettings } = request;
  const namesContextAlone =
    taskId === "" && contextId !== "" && !messageSettings?.fork;
  // An answer finds the task that asks about its call (TOOL-5).
  if (!namesContextAlone || !message || confirmationsOf(message).length > 0) {
    return request;
  }
  const { messageId } = message;
  return {
    ...request,
    taskId: await recipientOf({ messageId, contextId }, context),
  };
}
