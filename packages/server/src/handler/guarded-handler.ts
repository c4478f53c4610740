import type { HandlerContext } from "@connectrpc/connect";
import { OPTION_CANCEL, type SendMessageRequest } from "@devtool/schema";
import { assertRight } from "./caller.ts";
import type { RequestHandler } from "./request-handler.ts";

/**
 * Wraps a handler with checks of the caller's rights, once for all transports.
 *
 * Answering a tool call requires `approve`, unless the answer declines it. Reading the audit log, which
 * covers all principals, requires `audit`.
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
