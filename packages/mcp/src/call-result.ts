import { create } from "@bufbuild/protobuf";
import {
  failureResult,
  type ToolEvent,
  textResult,
} from "@devtool/coding-agent/tool";
import { keepStart, structFromJson, ToolOutputSchema } from "@devtool/schema";
import { isObject } from "@devtool/schema/json";
import type {
  CallToolResult,
  ContentBlock,
  SamplingMessage,
} from "@modelcontextprotocol/client";

/**
 * Returns the event for the result of a call.
 *
 * It is the structured data if the server gave some, otherwise the content as
 * text. Structured data that is not an object is wrapped in one. What is longer
 * than `maxOutputLength` is cut, and then text.
 */
export function readCallResult(
  result: CallToolResult,
  maxOutputLength: number,
): ToolEvent {
  const text = contentText(result.content);
  if (result.isError === true) {
    const message = text === "" ? "the tool failed and did not say why" : text;
    return failureResult("mcp_tool_error", cut(message, maxOutputLength));
  }
  const { structuredContent: data } = result;
  if (data === undefined) return textResult(cut(text, maxOutputLength));
  const structured = structFromJson(isObject(data) ? data : { value: data });
  const json = JSON.stringify(structured);
  if (json.length > maxOutputLength) {
    return textResult(cut(json, maxOutputLength));
  }
  const value = create(ToolOutputSchema, {
    result: { case: "structuredData", value: structured },
  });
  return { case: "result", value: { case: "output", value } };
}

/**
 * Returns content as text: text as it is, and for anything else its kind and
 * size.
 */
export function contentText(
  content: readonly ContentBlock[] | SamplingMessage["content"],
): string {
  return [content].flat().map(blockText).join("\n");
}

/** One block of content, of a tool's result or of a message. */
type Block =
  | ContentBlock
  | Exclude<SamplingMessage["content"], readonly unknown[]>;

function blockText(block: Block): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
    case "audio":
      return `[${block.type} ${block.mimeType}, ${Buffer.from(block.data, "base64").length} bytes]`;
    case "resource": {
      const { resource } = block;
      if ("text" in resource) {
        return `[resource ${resource.uri}]\n${resource.text}`;
      }
      const size = Buffer.from(resource.blob, "base64").length;
      return `[resource ${resource.uri}, ${resource.mimeType ?? "unknown type"}, ${size} bytes]`;
    }
    case "resource_link":
      return `[link to resource ${block.name}: ${block.uri}]`;
    case "tool_use":
      return `[call of tool ${block.name}: ${JSON.stringify(block.input)}]`;
    case "tool_result":
      return contentText(block.content);
    default:
      return block satisfies never;
  }
}

/**
 * Returns the text, cut after `maxLength` characters with a line that says how
 * much is missing.
 */
export function cut(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  return `${keepStart(text, maxLength)}\n[last ${text.length - maxLength} of ${text.length} characters cut]`;
}
