import {
  type AnswerContext,
  type Content,
  halves,
  type Plan,
  type PlannedCall,
  type StreamEncoder,
} from "@devtool/coding-agent/testing/fake-model";
import type {
  ChatCompletion,
  ChatCompletionChunk,
} from "openai/resources/chat/completions/completions";
import type { CompletionUsage } from "openai/resources/completions";

/** A delta, with the reasoning that vLLM and others add to OpenAI's API. */
type Delta = ChatCompletionChunk.Choice.Delta & {
  readonly reasoning_content?: string;
};

/** Returns the encoder of a streamed completion. */
export function streamCompletion(
  context: AnswerContext,
  last: "usage" | "none",
): StreamEncoder {
  let tokens = 0;
  let calls = 0;
  const encode = (
    chunk: Pick<ChatCompletionChunk, "choices"> & Partial<ChatCompletionChunk>,
  ): string => {
    const whole: ChatCompletionChunk = {
      ...headOf(context),
      object: "chat.completion.chunk",
      ...chunk,
    };
    return `data: ${JSON.stringify(whole)}\n\n`;
  };
  const encodeDelta = (delta: Delta): string =>
    encode({ choices: [{ index: 0, delta, finish_reason: null }] });
  return {
    begin: () => encodeDelta({ role: "assistant", content: "" }),
    content: (content) => {
      tokens++;
      const deltas = deltasOf(content, calls);
      if (content.case === "calls") calls += content.calls.length;
      return deltas.map(encodeDelta).join("");
    },
    end: (plan) => {
      const finish_reason = finishReason(plan, calls);
      const finish = encode({
        choices: [{ index: 0, delta: {}, finish_reason }],
      });
      const usage =
        last === "usage"
          ? encode({ choices: [], usage: usageOf(context, tokens) })
          : "";
      return `${finish}${usage}data: [DONE]\n\n`;
    },
    malformed: 'data: {"choices": [{"delta": \n\n',
    aroundText: [
      'data: {"id":"x","choices":[{"index":0,"delta":{"content":"',
      '"},"finish_reason":null}]}\n\n',
    ],
  };
}

/** Encodes a completion in one piece. */
export function encodeCompletion(
  plan: Plan,
  context: AnswerContext,
): ChatCompletion {
  const contents = plan.items.flatMap((item) =>
    item.case === "pause" || item.case === "drip" ? [] : [item],
  );
  const text = contents
    .map((content) => (content.case === "text" ? content.text : ""))
    .join("");
  const calls = contents.flatMap((content) =>
    content.case === "calls" ? content.calls : [],
  );
  const toolCalls = calls.map(({ id, name, args }) => ({
    id,
    type: "function" as const,
    function: { name, arguments: JSON.stringify(args) },
  }));
  const reasoning = contents
    .map((content) => (content.case === "thought" ? content.text : ""))
    .join("");
  const message = {
    role: "assistant",
    content: text === "" && calls.length > 0 ? null : text,
    refusal: null,
    ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: toolCalls }),
  } as const;
  return {
    ...headOf(context),
    object: "chat.completion",
    choices: [
      {
        index: 0,
        message,
        logprobs: null,
        finish_reason: finishReason(plan, calls.length),
      },
    ],
    usage: usageOf(context, contents.length),
  };
}

function headOf({
  model,
  serial,
}: AnswerContext): Pick<ChatCompletion, "id" | "created" | "model"> {
  return { id: `chatcmpl-${serial}`, created: 0, model };
}

function deltasOf(content: Content, callsBefore: number): Delta[] {
  switch (content.case) {
    case "text":
      return [{ content: content.text }];
    case "thought":
      return [{ reasoning_content: content.text }];
    case "calls":
      return content.calls.flatMap((call, index) =>
        callDeltas(call, callsBefore + index),
      );
    default:
      return content satisfies never;
  }
}

/** Returns the pieces of a call: its name, then its arguments in two parts. */
function callDeltas(call: PlannedCall, index: number): Delta[] {
  const { id, name, args } = call;
  return [
    {
      tool_calls: [
        { index, id, type: "function", function: { name, arguments: "" } },
      ],
    },
    ...halves(JSON.stringify(args)).map(
      (part): Delta => ({
        tool_calls: [{ index, function: { arguments: part } }],
      }),
    ),
  ];
}

function finishReason(
  { end }: Plan,
  calls: number,
): "stop" | "length" | "tool_calls" | "content_filter" {
  const reason = end.case === "finish" ? end.reason : "STOP";
  if (reason === "MAX_TOKENS") return "length";
  if (reason !== "STOP") return "content_filter";
  return calls > 0 ? "tool_calls" : "stop";
}

function usageOf(
  { inputTokens }: AnswerContext,
  tokens: number,
): CompletionUsage {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: tokens,
    total_tokens: inputTokens + tokens,
  };
}
