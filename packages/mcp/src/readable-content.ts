import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject, stringOrEmpty } from "@devtool/internal/json";
import { oneLine } from "@devtool/internal/visible-text";
import {
  findProblem,
  type SpecSchemas,
  showJson,
  withoutNulls,
} from "./message-problem.ts";

/** The types of blocks of content, as the specification names them. */
type BlockTypes = ReadonlyMap<string, keyof SpecSchemas>;
const COMMON_TYPES = [
  ["text", "TextContent"],
  ["image", "ImageContent"],
  ["audio", "AudioContent"],
] as const;
const BLOCK_TYPES: BlockTypes = new Map([
  ...COMMON_TYPES,
  ["resource", "EmbeddedResource"],
  ["resource_link", "ResourceLink"],
]);
/** Those of messages to the model. */
export const SAMPLING_TYPES: BlockTypes = new Map([
  ...COMMON_TYPES,
  ["tool_use", "ToolUseContent"],
  ["tool_result", "ToolResultContent"],
]);

/** Fields of blocks that nobody uses: they must not cost the block. */
const UNUSED: ReadonlySet<string> = new Set(["_meta", "annotations", "icons"]);

/**
 * Returns content as blocks that are valid. In place of one that is not there
 * is its type as text, `[hologram]`.
 */
export function readBlocks(
  schemas: SpecSchemas,
  content: JsonValue | undefined,
  types: BlockTypes = BLOCK_TYPES,
): JsonObject[] {
  if (content === undefined || content === null) return [];
  return [content].flat().map((block) => readBlock(schemas, block, types));
}

function readBlock(
  schemas: SpecSchemas,
  value: JsonValue,
  types: BlockTypes,
): JsonObject {
  if (typeof value === "string") return textBlock(value);
  if (!isObject(value)) return textBlock(`[${showJson(value)}]`);
  const block = withoutUnused(value);
  if (isObject(block.resource)) block.resource = readResource(block.resource);
  if (block.type === "resource_link") {
    // Only the URI has to be there.
    for (const name of ["title", "description", "mimeType", "size"]) {
      delete block[name];
    }
    block.name = stringOrEmpty(block.name) || (block.uri ?? null);
  }
  const kind = stringOrEmpty(block.type);
  const type = types.get(kind);
  if (!type) {
    // Text is text, whatever its block is called.
    const text = stringOrEmpty(block.text);
    if (kind === "") return textBlock(text || `[${showJson(value)}]`);
    return textBlock(`[${oneLine(kind, 60)}]${text && `\n${text}`}`);
  }
  const problem = findProblem(schemas, type, block);
  return problem === undefined ? block : textBlock(`[${kind}: ${problem}]`);
}

/** Returns a resource of which only the text or the data has to be there. */
function readResource(value: JsonObject): JsonObject {
  const { uri, mimeType, ...rest } = withoutUnused(value);
  const read: JsonObject = { ...rest, uri: stringOrEmpty(uri) };
  if (typeof mimeType === "string") read.mimeType = mimeType;
  return read;
}

/** A message of a prompt. */
interface ReadableMessage extends JsonObject {
  readonly role: "assistant" | "user";
  readonly content: JsonObject[];
}

/**
 * Returns messages with roles and content that are valid. Any other role than
 * the model's is the user's. In place of one without content is a text that
 * says so.
 */
export function readMessages(
  schemas: SpecSchemas,
  messages: JsonValue | undefined,
  types?: BlockTypes,
): ReadableMessage[] {
  if (messages === undefined || messages === null) return [];
  return [messages].flat().map((message) => {
    const { role, content } = isObject(message)
      ? message
      : { content: message };
    const blocks = readBlocks(schemas, content, types);
    return {
      role: role === "assistant" ? "assistant" : "user",
      content:
        blocks.length > 0 ? blocks : [textBlock(`[${showJson(message)}]`)],
    };
  });
}

/**
 * Returns the contents of a resource that are valid. In place of one that is
 * not there is a text that says why.
 */
export function readContents(
  schemas: SpecSchemas,
  contents: JsonValue | undefined,
  uri: JsonValue | undefined,
): JsonObject[] {
  if (contents === undefined || contents === null) return [];
  return [contents].flat().map((value) => {
    const fallback = { uri: stringOrEmpty(uri) };
    if (!isObject(value)) {
      const text = typeof value === "string" ? value : `[${showJson(value)}]`;
      return { ...fallback, text };
    }
    const read = readResource(value);
    read.uri ||= fallback.uri;
    const type =
      "blob" in read && typeof read.text !== "string"
        ? "BlobResourceContents"
        : "TextResourceContents";
    const problem = findProblem(schemas, type, read);
    return problem === undefined ? read : { ...fallback, text: `[${problem}]` };
  });
}

function withoutUnused(value: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(withoutNulls(value)).filter(([name]) => !UNUSED.has(name)),
  );
}

function textBlock(text: string): JsonObject {
  return { type: "text", text };
}
