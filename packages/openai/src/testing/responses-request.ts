import type {
  AnswerRequest,
  DeclaredTool,
  Entry,
} from "@devtool/coding-agent/testing/fake-model";
import {
  listOrEmpty,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/internal/json";
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
import { encodeResponse, streamResponse } from "./responses-answer.ts";
import {
  encryptReasoning,
  foundTools,
  TOOL_SEARCH,
} from "./responses-items.ts";

type Fields = Readonly<Record<string, unknown>>;

/**
 * The parameters of `POST /v1/responses`; `client_metadata` is Codex's, and
 * OpenAI takes it.
 */
const PARAMETERS: ReadonlySet<string> = new Set([
  "access_programs",
  "background",
  "client_metadata",
  "context_management",
  "conversation",
  "include",
  "input",
  "instructions",
  "max_output_tokens",
  "max_tool_calls",
  "metadata",
  "model",
  "moderation",
  "parallel_tool_calls",
  "previous_response_id",
  "prompt",
  "prompt_cache_key",
  "prompt_cache_options",
  "prompt_cache_retention",
  "reasoning",
  "safety_identifier",
  "service_tier",
  "store",
  "stream",
  "stream_options",
  "temperature",
  "text",
  "tool_choice",
  "tools",
  "top_logprobs",
  "top_p",
  "truncation",
  "user",
]);

/** Reads a request for a response. Refuses what OpenAI refuses. */
export function readResponsesRequest(value: unknown): AnswerRequest {
  const body = checkObject(value, "body", PARAMETERS);
  const model = checkString(body.model, "model");
  const limit = body.max_output_tokens ?? undefined;
  if (
    limit !== undefined &&
    !(Number.isInteger(limit) && Number(limit) >= 16)
  ) {
    refuse(
      "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16.",
      "max_output_tokens",
    );
  }
  const tools = [
    ...(body.tools === undefined ? [] : readTools(body.tools)),
    ...foundTools(body).flatMap((tool) => readTool(tool, "input.tools")),
  ];
  const { conversation, signatures } = readInput(body);
  return {
    case: "answer",
    method: "responses",
    model,
    conversation,
    tools,
    signatures,
    encode:
      body.stream === true
        ? { case: "stream", stream: (context) => streamResponse(body, context) }
        : {
            case: "whole",
            whole: (plan, context) => encodeResponse(plan, body, context),
          },
  };
}

function readTools(value: unknown): DeclaredTool[] {
  if (!Array.isArray(value)) {
    refuse("Invalid type for 'tools': expected an array.", "tools");
  }
  const tools = value.flatMap((each, index) =>
    readTool(each, `tools[${index}]`),
  );
  const names = tools.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined) refuse(`Duplicate tool name '${twice}'.`, "tools");
  return tools;
}

/**
 * Returns the functions that a tool declares; none for the tools that OpenAI
 * runs.
 */
function readTool(value: unknown, param: string): DeclaredTool[] {
  const tool = checkObject(value, param);
  switch (tool.type) {
    case "function":
      checkParameters(tool.parameters, `${param}.parameters`);
      return [
        {
          name: checkToolName(tool.name, `${param}.name`),
          parameters: tool.parameters,
        },
      ];
    case "custom":
      return [
        {
          name: checkToolName(tool.name, `${param}.name`),
          parameters: undefined,
        },
      ];
    case TOOL_SEARCH:
      return [{ name: TOOL_SEARCH, parameters: tool.parameters }];
    case "namespace":
      return listOrEmpty(tool.tools).flatMap((each, index) =>
        readTool(each, `${param}.tools[${index}]`),
      );
    default:
      checkString(tool.type, `${param}.type`);
      return [];
  }
}

interface Input {
  readonly conversation: readonly Entry[];
  readonly signatures: readonly string[];
}

function readInput({ input, store }: Fields): Input {
  if (typeof input === "string") {
    return {
      conversation: [{ role: "user", texts: [input], results: [] }],
      signatures: [],
    };
  }
  const calls = new CallLedger();
  const signatures: string[] = [];
  const conversation = checkList(input, "input").flatMap(
    (each, index): Entry[] => {
      const item = checkObject(each, `input[${index}]`);
      if (item.type === "reasoning") {
        signatures.push(...readReasoning(item, `input[${index}]`, store));
      }
      return readItem(item, `input[${index}]`, calls);
    },
  );
  calls.checkSettled("input");
  return { conversation, signatures };
}

function readItem(item: Fields, param: string, calls: CallLedger): Entry[] {
  switch (item.type ?? "message") {
    case "message":
      return readMessage(item, param);
    case "reasoning":
      return [{ role: "model", hasCalls: false }];
    case "function_call":
      checkArguments(item.arguments, `${param}.arguments`);
      calls.add(
        checkString(item.call_id, `${param}.call_id`),
        checkToolName(item.name, `${param}.name`),
      );
      return [{ role: "model", hasCalls: true }];
    case "custom_tool_call":
      checkString(item.input, `${param}.input`);
      calls.add(
        checkString(item.call_id, `${param}.call_id`),
        checkToolName(item.name, `${param}.name`),
      );
      return [{ role: "model", hasCalls: true }];
    case "tool_search_call":
      if (item.execution !== "client") return [];
      calls.add(checkString(item.call_id, `${param}.call_id`), TOOL_SEARCH);
      return [{ role: "model", hasCalls: true }];
    case "tool_search_output": {
      if (item.execution !== "client") return [];
      const id = checkString(item.call_id, `${param}.call_id`);
      const name = calls.settle(id, param);
      const value = JSON.stringify(listOrEmpty(item.tools));
      return [{ role: "user", texts: [], results: [{ name, value }] }];
    }
    case "function_call_output":
    case "custom_tool_call_output": {
      const name = calls.settle(
        checkString(item.call_id, `${param}.call_id`),
        param,
      );
      const { output } = item;
      if (typeof output !== "string") {
        checkContent(output, "tool", `${param}.output`);
      }
      const value =
        typeof output === "string" ? output : listTexts(output).join("\n");
      return [{ role: "user", texts: [], results: [{ name, value }] }];
    }
    default:
      // Items of the tools that OpenAI runs.
      checkString(item.type, `${param}.type`);
      return [];
  }
}

function readMessage(item: Fields, param: string): Entry[] {
  const role = checkOneOf(item.role, `${param}.role`, [
    "user",
    "assistant",
    "system",
    "developer",
  ]);
  if (typeof item.content !== "string") {
    checkContent(item.content, role, `${param}.content`);
  }
  const texts =
    typeof item.content === "string" ? [item.content] : listTexts(item.content);
  if (role === "assistant") return [{ role: "model", hasCalls: false }];
  return role === "user" ? [{ role: "user", texts, results: [] }] : [];
}

function checkContent(value: unknown, role: string, param: string): void {
  checkList(value, param).forEach((each, index) => {
    const path = `${param}[${index}]`;
    const part = checkObject(each, path);
    if (role === "assistant") {
      checkOneOf(part.type, `${path}.type`, ["output_text", "refusal"]);
    } else {
      checkOneOf(part.type, `${path}.type`, [
        "input_text",
        "input_image",
        "input_file",
      ]);
    }
    if (part.type === "input_text" || part.type === "output_text") {
      checkString(part.text, `${path}.text`);
    }
    if (part.type === "input_image") {
      checkImageUrl(part.image_url, `${path}.image_url`);
    }
  });
}

function listTexts(content: unknown): string[] {
  return listOrEmpty(content)
    .map((part) => stringOrEmpty(objectOrEmpty(part).text))
    .filter((text) => text !== "");
}

/**
 * Returns the encrypted content of a reasoning item. Refuses one that this API
 * did not give.
 *
 * @param store the field of the request: whether OpenAI keeps the items
 */
function readReasoning(item: Fields, param: string, store: unknown): string[] {
  const id = checkString(item.id, `${param}.id`);
  if (!Array.isArray(item.summary)) {
    refuse(
      `Missing required parameter: '${param}.summary'.`,
      `${param}.summary`,
    );
  }
  const encrypted = item.encrypted_content ?? undefined;
  if (encrypted === undefined) {
    if (store === false) {
      refuse(
        `Item with id '${id}' not found. Items are not persisted when 'store' is set to false.`,
        param,
      );
    }
    return [];
  }
  if (encrypted !== encryptReasoning(id)) {
    refuse(
      `The encrypted content for item ${id} could not be verified.`,
      `${param}.encrypted_content`,
    );
  }
  return [encryptReasoning(id)];
}
