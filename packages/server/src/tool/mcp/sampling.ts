import { create } from "@bufbuild/protobuf";
import { ConfirmationOptionSchema, GenericDetailsSchema, OPTION_CANCEL, OPTION_PROCEED_ONCE } from "@devtool/schema";
import type { CreateMessageRequest, CreateMessageResult } from "@modelcontextprotocol/client";
import { Code, DevtoolError } from "../../errors.ts";
import type { CallHooks } from "./call-hooks.ts";
import { contentText } from "./call-result.ts";

/** What a server asks the model, after the user agreed. */
export interface SampleRequest {
  readonly systemPrompt: string;
  readonly messages: readonly { readonly role: "user" | "assistant"; readonly text: string }[];
  /** The answer may have so many tokens. */
  readonly maxTokens: number;
}

/** Asks the model on a server's behalf. */
export type Sample = (
  request: SampleRequest,
  signal: AbortSignal,
) => Promise<{ readonly model: string; readonly text: string }>;

/** Who asks the model, and how the user and the model are reached. */
export interface Sampling {
  /** The name of the server, as configured. */
  readonly server: string;
  readonly hooks: CallHooks;
  readonly sample: Sample;
}

/** Shows the user what a server wants to ask the model, and asks it when they agree. */
export async function sampleFor(
  { params }: CreateMessageRequest,
  { server, hooks, sample }: Sampling,
  signal: AbortSignal,
): Promise<CreateMessageResult> {
  const messages = params.messages.map(({ role, content }) => ({ role, text: contentText(content) }));
  const request = { systemPrompt: params.systemPrompt ?? "", messages, maxTokens: params.maxTokens };
  const { optionId } = await hooks.ask({
    description: `MCP server ${server} wants to ask the model`,
    details: { case: "genericDetails", value: create(GenericDetailsSchema, { description: inWords(server, request) }) },
    options: [
      create(ConfirmationOptionSchema, { id: OPTION_PROCEED_ONCE, name: "Allow once" }),
      create(ConfirmationOptionSchema, { id: OPTION_CANCEL, name: "Decline" }),
    ],
  });
  if (optionId !== OPTION_PROCEED_ONCE) throw new DevtoolError("the user declined", Code.PermissionDenied);
  const { model, text } = await sample(request, signal);
  return { model, role: "assistant", content: { type: "text", text } };
}

function inWords(server: string, { systemPrompt, messages, maxTokens }: SampleRequest): string {
  return [
    `MCP server ${server} wants to ask the model, for at most ${maxTokens} tokens:`,
    ...(systemPrompt === "" ? [] : [`system: ${systemPrompt}`]),
    ...messages.map(({ role, text }) => `${role}: ${text}`),
  ].join("\n");
}
