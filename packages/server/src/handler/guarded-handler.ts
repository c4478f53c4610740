import type { HandlerContext } from "@connectrpc/connect";
import { OPTION_CANCEL, type SendMessageRequest } from "@devtool/schema";
import { assertRight } from "./caller.ts";
import type { RequestHandler } from "./request-handler.ts";

/**
 * Puts the rights of callers in front of a handler, once for every transport: answers to what tools ask need `approve`,
 * except the one that declines; the audit log, which tells of all principals, needs `audit`.
 */
export function guardedHandler(handler: RequestHandler): RequestHandler {
  const { tasks, audit } = handler;
  return {
    ...handler,
    tasks: {
      ...tasks,
      async sendMessage(request, context) {
        assertMayAnswer(request, context);
        return tasks.sendMessage(request, context);
      },
      async *streamMessage(request, context) {
        assertMayAnswer(request.request, context);
        yield* tasks.streamMessage(request, context);
      },
    },
    audit: {
      async *readAudit(request, context) {
        assertRight(context, "audit");
        yield* audit.readAudit(request, context);
      },
    },
  };
}

function assertMayAnswer(request: SendMessageRequest | undefined, context: HandlerContext): void {
  const approves = request?.message?.parts.some(
    ({ content }) => content.case === "confirmation" && content.value.selectedOptionId !== OPTION_CANCEL,
  );
  if (approves) assertRight(context, "approve");
}
