import { create, type JsonObject } from "@bufbuild/protobuf";
import { failureResult, type ToolEvent, textResult } from "@devtool/coding-agent/tool";
import { ToolOutputSchema } from "@devtool/schema";
import type { CallToolResult, ContentBlock, SamplingMessage } from "@modelcontextprotocol/client";
import { plainObject } from "./tool-definition.ts";

/** Reads the result of a call: structured data where the server gave some, else text with words for what is not text. */
export function resultOf(result: CallToolResult, maxOutputBytes: number): ToolEvent {
  const text = contentText(result.content);
  if (result.isError === true) {
    const said = text === "" ? "the tool failed and did not say why" : text;
    return failureResult("mcp_tool_error", cut(said, maxOutputBytes));
  }
  const structured = structuredOf(result.structuredContent);
  if (structured === undefined) return textResult(cut(text, maxOutputBytes));
  const json = JSON.stringify(structured);
  if (json.length > maxOutputBytes) return textResult(cut(json, maxOutputBytes));
  const value = create(ToolOutputSchema, { result: { case: "structuredData", value: structured } });
  return { case: "result", value: { case: "output", value } };
}

/** The structured data of a result; what is not an object is put into one. */
function structuredOf(value: unknown): JsonObject | undefined {
  if (value === undefined) return undefined;
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? plainObject(value) : plainObject({ value });
}

/** Content as text: text as it is, anything else by its kind and size. */
export function contentText(content: readonly ContentBlock[] | SamplingMessage["content"]): string {
  return [content].flat().map(blockText).join("\n");
}

type Block = ContentBlock | Exclude<SamplingMessage["content"], readonly unknown[]>;

function blockText(block: Block): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
    case "audio":
      return `[${block.type} ${block.mimeType}, ${bytesOf(block.data)} bytes]`;
    case "resource":
      return "text" in block.resource
        ? `[resource ${block.resource.uri}]\n${block.resource.text}`
        : `[resource ${block.resource.uri}, ${block.resource.mimeType ?? "unknown type"}, ${bytesOf(block.resource.blob)} bytes]`;
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

/** How many bytes base64 stands for. */
function bytesOf(base64: string): number {
  return Math.floor((base64.replaceAll(/[\s=]/g, "").length * 3) / 4);
}

/** The beginning of a text that is too long, and how much is missing. */
export function cut(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  return `${text.slice(0, maxLength)}\n[last ${text.length - maxLength} of ${text.length} characters cut]`;
}
