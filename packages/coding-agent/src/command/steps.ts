import { create } from "@bufbuild/protobuf";
import { type Message, MessageSchema, Role, type ToolCall, ToolCallStatus, toolCallsOf } from "@devtool/schema";
import { type CommandContext, quoted } from "@devtool/server/agent";
import type { Model, ModelRequest, ModelToolCall } from "../agent/model.ts";
import type { McpPromptMessage } from "../tool/mcp.ts";

/** The steps of a command that only says something. */
export function saying(text: (request: ModelRequest, signal: AbortSignal) => string | Promise<string>): Model {
  return {
    name: "",
    async *generate(request, signal) {
      yield { case: "text", value: await text(request, signal) };
    },
  };
}

/** What a command says that is about a conversation and finds none. */
export function noConversation({ contextId }: CommandContext): string {
  const remedy = "send its context_id with the command (the contextId of its tasks), or send a message first";
  return `There is no conversation in context ${quoted(contextId)}: ${remedy}.`;
}

/** What a command does first: a call, or words when there is nothing to call. */
export type FirstStep = { readonly call: ModelToolCall } | { readonly text: string };

/** How a command that makes one call begins and ends. */
export interface CallingSteps {
  first(request: ModelRequest): FirstStep;
  /** What it says of a call that went well; nothing when it is left out, for the result is the answer. */
  last?(request: ModelRequest, signal: AbortSignal): Promise<string>;
}

/** The steps of a command that makes one tool call and ends when it is done. */
export function callingOnce({ first, last }: CallingSteps): Model {
  return {
    name: "",
    async *generate(request, signal) {
      const made = request.history.flatMap(toolCallsOf).at(-1);
      if (!made) {
        const step = first(request);
        yield "call" in step ? { case: "toolCall", value: step.call } : { case: "text", value: step.text };
      } else if (last && hasSucceeded(made)) {
        const value = await last(request, signal);
        if (value !== "") yield { case: "text", value };
      }
    },
  };
}

/** The steps of a command that makes one tool call whose result is the answer. */
export function calling(call: ModelToolCall): Model {
  return callingOnce({ first: () => ({ call }) });
}

/** The steps of a model that is told a prompt before the conversation. The prompt is made once. */
export function prompting(model: Model, prompt: (signal: AbortSignal) => Promise<readonly McpPromptMessage[]>): Model {
  let told: Promise<readonly Message[]> | undefined;
  return {
    ...model,
    async *generate(request, signal) {
      told ??= prompt(signal).then((messages) => messages.map(messageOf));
      yield* model.generate({ ...request, history: [...(await told), ...request.history] }, signal);
    },
  };
}

function messageOf({ role, text }: McpPromptMessage, index: number): Message {
  return create(MessageSchema, {
    messageId: `prompt-${index + 1}`,
    role: role === "user" ? Role.USER : Role.AGENT,
    parts: [{ content: { case: "text", value: text } }],
  });
}

function hasSucceeded({ status }: ToolCall): boolean {
  return status === ToolCallStatus.SUCCEEDED;
}
