import {
  type Message,
  Role,
  ToolCallStatus,
  type TraceContext,
  toolCallsOf,
} from "@devtool/schema";
import { type CommandContext, quoted } from "@devtool/server/agent";
import type {
  AgentModel,
  ModelRequest,
  ModelToolCall,
  StepRequest,
  StepSource,
} from "../agent/model.ts";
import { textMessage } from "../tool/message-text.ts";
import type { McpPromptMessage } from "../tool/tool.ts";

/**
 * Creates the single step of a command that replies with a text, which `text`
 * returns when the step runs.
 */
export function replyWith(
  text: (request: StepRequest, signal: AbortSignal) => string | Promise<string>,
): StepSource {
  return {
    async *generate(request, signal) {
      yield { case: "text", value: await text(request, signal) };
    },
  };
}

/**
 * Returns the reply of a command that needs a conversation, where the context
 * has none.
 */
export function noConversation({ contextId }: CommandContext): string {
  const remedy =
    "send its context_id with the command (the contextId of its tasks), or send a message first";
  return `There is no conversation in context ${quoted(contextId)}: ${remedy}.`;
}

/**
 * The first step of a command: a tool call, or a text when there is nothing to
 * call.
 */
export type FirstStep =
  | { readonly call: ModelToolCall }
  | { readonly text: string };

/** The two steps of a command that makes one tool call. */
export interface CallSteps {
  first(request: ModelRequest): FirstStep;
  /**
   * Returns the reply to a successful call. Default: none, because the result
   * of the call is the reply.
   */
  last?(request: ModelRequest, signal: AbortSignal): Promise<string>;
}

/**
 * Creates the steps of a command that makes one tool call and replies to its
 * success.
 */
export function callThenReply({ first, last }: CallSteps): StepSource {
  return {
    async *generate(request, signal) {
      const call = request.history.flatMap(toolCallsOf).at(-1);
      if (!call) {
        const step = first(request);
        yield "call" in step
          ? { case: "toolCall", value: step.call }
          : { case: "text", value: step.text };
      } else if (last && call.status === ToolCallStatus.SUCCEEDED) {
        const value = await last(request, signal);
        if (value !== "") yield { case: "text", value };
      }
    },
  };
}

/**
 * Creates the steps of a command that makes one tool call, whose result is the
 * reply.
 */
export function callTool(call: ModelToolCall): StepSource {
  return callThenReply({ first: () => ({ call }) });
}

/**
 * Creates the steps of a command that has a model respond to a prompt. The
 * prompt is read once, with the first step.
 */
export function promptModel(
  model: AgentModel,
  readPrompt: (
    signal: AbortSignal,
    trace: TraceContext | undefined,
  ) => Promise<readonly McpPromptMessage[]>,
): StepSource {
  let prompt: Promise<readonly Message[]> | undefined;
  return {
    maxInputTokens: model.maxInputTokens,
    async *generate(request, signal) {
      prompt ??= readPrompt(signal, request.traceContext()).then((messages) =>
        messages.map(({ role, text }, index) =>
          textMessage(
            role === "user" ? Role.USER : Role.AGENT,
            text,
            `prompt-${index + 1}`,
          ),
        ),
      );
      yield* model.generate(
        { ...request, history: [...(await prompt), ...request.history] },
        signal,
      );
    },
  };
}
