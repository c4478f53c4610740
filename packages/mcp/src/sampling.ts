import { create } from "@bufbuild/protobuf";
import {
  ConfirmationOptionSchema,
  GenericDetailsSchema,
  OPTION_CANCEL,
  OPTION_PROCEED_ONCE,
} from "@devtool/schema";
import { Code, DevtoolError } from "@devtool/server/agent";
import type {
  CreateMessageRequest,
  CreateMessageResult,
} from "@modelcontextprotocol/client";
import type { CallHooks } from "./call-events.ts";
import { contentText } from "./call-result.ts";
import { type AskingServer, serverTitle } from "./server-place.ts";

/** The server that wants to ask the model, and the call that it asks for. */
export interface Sampling {
  readonly server: AskingServer;
  readonly hooks: CallHooks;
}

/**
 * Asks the model on behalf of a server (MCP sampling), after the user has seen
 * the whole prompt and agreed.
 *
 * Throws `Code.PermissionDenied` when the user declines.
 */
export async function sampleForServer(
  { params }: CreateMessageRequest,
  { server, hooks }: Sampling,
  signal: AbortSignal,
): Promise<CreateMessageResult> {
  const messages = params.messages.map(({ role, content }) => ({
    role,
    text: contentText(content),
  }));
  const request = {
    systemPrompt: params.systemPrompt ?? "",
    messages,
    maxTokens: params.maxTokens,
  };
  const limit =
    request.maxTokens > 0
      ? `. It asks for at most ${request.maxTokens} tokens, but the answer may be longer`
      : "";
  const description = [
    `${serverTitle(server)} wants to ask the model${limit}:`,
    ...(request.systemPrompt === "" ? [] : [`system: ${request.systemPrompt}`]),
    ...messages.map(({ role, text }) => `${role}: ${text}`),
  ].join("\n");
  const question = {
    description: `${serverTitle(server)} wants to ask the model`,
    details: {
      case: "genericDetails" as const,
      value: create(GenericDetailsSchema, { description }),
    },
    options: [
      create(ConfirmationOptionSchema, {
        id: OPTION_PROCEED_ONCE,
        name: "Allow once",
      }),
      create(ConfirmationOptionSchema, { id: OPTION_CANCEL, name: "Decline" }),
    ],
  };
  const { optionId } = await hooks.ask(question, signal);
  if (optionId !== OPTION_PROCEED_ONCE) {
    throw new DevtoolError("the user declined", Code.PermissionDenied);
  }
  const { model, text } = await hooks.sample(request, signal);
  return { model, role: "assistant", content: { type: "text", text } };
}
