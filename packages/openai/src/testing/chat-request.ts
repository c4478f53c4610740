import type {
  AnswerRequest,
  CallResult,
  DeclaredTool,
  Entry,
} from "@devtool/coding-agent/testing/fake-model";
import {
  listOrEmpty,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/internal/json";
import { encodeCompletion, streamCompletion } from "./chat-answer.ts";
import {
  CallLedger,
  checkArguments,
  checkImageUrl,
  checkList,
  checkObject,
  checkOneOf,
  checkParameters,
  checkString,
  checkToolName,
  refuse,
} from "./checks.ts";

/** The parameters of `POST /v1/chat/completions`. */
const PARAMETERS: ReadonlySet<string> = new Set([
  "audio",
  "frequency_penalty",
  "function_call",
  "functions",
  "logit_bias",
  "logprobs",
  "max_completion_tokens",
  "max_tokens",
  "messages",
  "metadata",
  "modalities",
  "model",
  "moderation",
  "n",
  "parallel_tool_calls",
  "prediction",
  "presence_penalty",
  "prompt_cache_key",
  "prompt_cache_options",
  "prompt_cache_retention",
  "reasoning_effort",
  "response_format",
  "safety_identifier",
  "seed",
  "service_tier",
  "stop",
  "store",
  "stream",
  "stream_options",
  "temperature",
  "tool_choice",
  "tools",
  "top_logprobs",
  "top_p",
  "user",
  "verbosity",
  "web_search_options",
]);

/** Reads a request for a chat completion. Refuses what OpenAI refuses. */
export function readChatRequest(value: unknown): AnswerRequest {
  const body = checkObject(value, "body", PARAMETERS);
  const model = checkString(body.model, "model");
  if (body.stream !== true && body.stream_options !== undefined) {
    refuse(
      "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
      "stream_options",
    );
  }
  const tools = body.tools === undefined ? [] : readTools(body.tools);
  const calls = new CallLedger();
  const messages = checkList(body.messages, "messages");
  const conversation = messages.flatMap((each, index) =>
    readMessage(each, `messages[${index}]`, calls),
  );
  calls.checkSettled("messages");
  const { include_usage } = objectOrEmpty(body.stream_options);
  return {
    case: "answer",
    method: "chat.completions",
    model,
    conversation,
    tools,
    signatures: [],
    encode:
      body.stream === true
        ? {
            case: "stream",
            stream: (context) =>
              streamCompletion(
                context,
                include_usage === true ? "usage" : "none",
              ),
          }
        : { case: "whole", whole: encodeCompletion },
  };
}

function readTools(value: unknown): DeclaredTool[] {
  return checkList(value, "tools").map((each, index) => {
    const param = `tools[${index}]`;
    const tool = checkObject(each, param);
    checkOneOf(tool.type, `${param}.type`, ["function"]);
    const { name, parameters } = checkObject(
      tool.function,
      `${param}.function`,
    );
    if (parameters !== undefined) {
      checkParameters(parameters, `${param}.function.parameters`);
    }
    return { name: checkToolName(name, `${param}.function.name`), parameters };
  });
}

function readMessage(
  value: unknown,
  param: string,
  calls: CallLedger,
): Entry[] {
  const message = checkObject(value, param);
  const role = checkOneOf(message.role, `${param}.role`, [
    "system",
    "developer",
    "user",
    "assistant",
    "tool",
  ]);
  if (role !== "tool") calls.checkSettled(param);
  switch (role) {
    case "system":
    case "developer":
      readContent(message.content, `${param}.content`);
      return [];
    case "user":
      return [
        {
          role: "user",
          texts: readContent(message.content, `${param}.content`),
          results: [],
        },
      ];
    case "assistant":
      return [
        { role: "model", hasCalls: readCalls(message, param, calls) > 0 },
      ];
    case "tool":
      return [
        {
          role: "user",
          texts: [],
          results: [readResult(message, param, calls)],
        },
      ];
    default:
      return role satisfies never;
  }
}

/**
 * Returns the texts of a message. Refuses content that is empty or of an
 * unknown kind.
 */
function readContent(value: unknown, param: string): string[] {
  if (typeof value === "string") return [value];
  return checkList(value, param).flatMap((each, index): string[] => {
    const path = `${param}[${index}]`;
    const part = checkObject(each, path);
    switch (
      checkOneOf(part.type, `${path}.type`, [
        "text",
        "image_url",
        "input_audio",
        "file",
        "refusal",
      ])
    ) {
      case "text":
        return [checkString(part.text, `${path}.text`)];
      case "image_url":
        checkImageUrl(
          objectOrEmpty(part.image_url).url,
          `${path}.image_url.url`,
        );
        return [];
      default:
        return [];
    }
  });
}

/** Checks the calls of an assistant's message and returns their number. */
function readCalls(
  message: Readonly<Record<string, unknown>>,
  param: string,
  calls: CallLedger,
): number {
  const { content, tool_calls } = message;
  if (content !== undefined && content !== null) {
    readContent(content, `${param}.content`);
  }
  if (tool_calls === undefined) {
    if (content === undefined || content === null) {
      refuse(`Missing required parameter: '${param}.content'.`, param);
    }
    return 0;
  }
  const list = checkList(tool_calls, `${param}.tool_calls`);
  for (const [index, each] of list.entries()) {
    const path = `${param}.tool_calls[${index}]`;
    const call = checkObject(each, path);
    checkOneOf(call.type, `${path}.type`, ["function"]);
    const { name, arguments: args } = checkObject(
      call.function,
      `${path}.function`,
    );
    checkArguments(args, `${path}.function.arguments`);
    calls.add(
      checkString(call.id, `${path}.id`),
      checkToolName(name, `${path}.function.name`),
    );
  }
  return list.length;
}

function readResult(
  message: Readonly<Record<string, unknown>>,
  param: string,
  calls: CallLedger,
): CallResult {
  const name = calls.settle(
    checkString(message.tool_call_id, `${param}.tool_call_id`),
    param,
  );
  const { content } = message;
  if (typeof content === "string") return { name, value: content };
  readContent(content, `${param}.content`);
  const texts = listOrEmpty(content).map((part) =>
    stringOrEmpty(objectOrEmpty(part).text),
  );
  return { name, value: texts.join("\n") };
}
