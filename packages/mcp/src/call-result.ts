import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  failureResult,
  type ToolEvent,
  textResult,
} from "@devtool/coding-agent/tool";
import { keepStart } from "@devtool/internal/cut-text";
import { quoteInexactNumbers } from "@devtool/internal/exact-json";
import {
  canonicalJson,
  isObject,
  parseJsonOrUndefined,
} from "@devtool/internal/json";
import { MODEL_MEDIA } from "@devtool/internal/model-media";
import {
  type File,
  FileSchema,
  structFromJson,
  ToolOutputSchema,
} from "@devtool/schema";
import type {
  CallToolResult,
  ContentBlock,
  SamplingMessage,
} from "@modelcontextprotocol/client";

/**
 * Returns the event for the result of a call.
 *
 * It is the structured data if the server gave some and the content says nothing
 * else, otherwise the content as text, with the data as JSON behind it.
 * Structured data that is not an object is wrapped in one. What is longer than
 * `maxOutputLength` is cut, and then text. Images and sounds are there beside it.
 */
export function readCallResult(
  result: CallToolResult,
  maxOutputLength: number,
): ToolEvent {
  const event = outputOf(result, maxOutputLength);
  return event.case === "result"
    ? { ...event, ...withFiles(result.content) }
    : event;
}

/** The maximum size of the files of a result, in bytes. */
const MAX_FILE_BYTES: number = 4 * 1024 * 1024;

/**
 * Returns the images and sounds of content for models that take them, as a field
 * of a result; nothing for content without any. What does not fit is left out.
 */
export function withFiles(content: readonly ContentBlock[]): {
  readonly files?: readonly File[];
} {
  let rest = MAX_FILE_BYTES;
  const files = content.flatMap((block) => {
    const [mediaType, data] = mediaOf(block);
    const bytes = Buffer.from(data, "base64");
    if (bytes.length === 0 || bytes.length > rest) return [];
    rest -= bytes.length;
    const source = { case: "bytes" as const, value: bytes };
    return create(FileSchema, { mediaType, source });
  });
  return files.length > 0 ? { files } : {};
}

/** Returns the type and the data of a block; no data for another type. */
function mediaOf(block: ContentBlock): readonly [type: string, data: string] {
  const { type } = block;
  const file =
    type === "image" || type === "audio"
      ? { mimeType: block.mimeType, data: block.data }
      : type === "resource" && "blob" in block.resource
        ? { mimeType: block.resource.mimeType ?? "", data: block.resource.blob }
        : { mimeType: "", data: "" };
  const mediaType = file.mimeType.toLowerCase();
  return MODEL_MEDIA.test(mediaType) ? [mediaType, file.data] : ["", ""];
}

function outputOf(result: CallToolResult, maxOutputLength: number): ToolEvent {
  const { structuredContent: data } = result;
  const structured =
    data === undefined
      ? undefined
      : structFromJson(isObject(data) ? data : { value: data });
  const text = contentText(
    structured ? otherContent(result.content, structured) : result.content,
  );
  const isEmpty = !structured || Object.keys(structured).length === 0;
  const json = isEmpty ? "" : JSON.stringify(structured);
  const all = [text, json].filter((part) => part !== "").join("\n");
  if (result.isError === true) {
    const message = all || "the tool failed and did not say why";
    return failureResult("mcp_tool_error", cut(message, maxOutputLength));
  }
  if (!structured || text !== "" || all.length > maxOutputLength) {
    return textResult(cut(all, maxOutputLength));
  }
  const value = create(ToolOutputSchema, {
    result: { case: "structuredData", value: structured },
  });
  return { case: "result", value: { case: "output", value } };
}

/** JSON that says nothing. */
const EMPTY_JSON: ReadonlySet<string> = new Set(["", "{}", "[]", "null"]);

/**
 * Returns the blocks of content that say something else than the data: servers
 * repeat it as text, whole or by its fields and items.
 */
function otherContent(
  content: readonly ContentBlock[],
  data: JsonObject,
): ContentBlock[] {
  const fields = Object.values(data);
  const known = new Set(
    [data, ...fields, ...fields.filter(Array.isArray).flat()].map(
      canonicalJson,
    ),
  );
  return content.filter((block) => {
    if (block.type !== "text") return true;
    const text = block.text.trim();
    const value = parseJsonOrUndefined(quoteInexactNumbers(text));
    return !(
      EMPTY_JSON.has(text) ||
      known.has(canonicalJson(block.text)) ||
      (value !== undefined && known.has(canonicalJson(value)))
    );
  });
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
