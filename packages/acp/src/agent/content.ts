import { create, type JsonObject } from "@bufbuild/protobuf";
import { objectOrEmpty, stringOrEmpty } from "@devtool/internal/json";
import { type File, FileSchema, type Part, PartSchema } from "@devtool/schema";

/**
 * Returns the text of a content block; for any other block, a line that says
 * what it is.
 */
export function textOfBlock(block: JsonObject): string {
  switch (block.type) {
    case "text":
      return stringOrEmpty(block.text);
    case "image":
    case "audio":
      return `[${block.type}: ${stringOrEmpty(block.mimeType)}]`;
    case "resource_link":
      return `[${stringOrEmpty(block.title) || stringOrEmpty(block.name)}](${stringOrEmpty(block.uri)})`;
    case "resource": {
      const resource = objectOrEmpty(block.resource);
      return (
        stringOrEmpty(resource.text) ||
        `[resource: ${stringOrEmpty(resource.uri)}]`
      );
    }
    default:
      return `[${stringOrEmpty(block.type) || "unknown content"}]`;
  }
}

/**
 * Returns content as a block. A text need not say that it is one, as a string
 * or as a block without a type.
 */
export function blockOf(content: unknown): JsonObject {
  if (typeof content === "string") return { type: "text", text: content };
  const block = objectOrEmpty(content);
  const isText = block.type === undefined && typeof block.text === "string";
  return isText ? { ...block, type: "text" } : block;
}

/** Whether a content block is of a type of ACP, with what that type needs. */
export function isUsableBlock(block: JsonObject): boolean {
  switch (block.type) {
    case "text":
      return typeof block.text === "string";
    case "image":
    case "audio":
      return BASE64.test(stringOrEmpty(block.data));
    case "resource_link":
      return typeof block.uri === "string";
    case "resource": {
      const { text, blob } = objectOrEmpty(block.resource);
      if (typeof text === "string" || blob === "") return true;
      return BASE64.test(stringOrEmpty(blob));
    }
    default:
      return false;
  }
}

/**
 * Returns the file that a content block holds or points to; undefined for text
 * and for unknown blocks.
 */
export function fileOfBlock(block: JsonObject): Part | undefined {
  const mediaType = stringOrEmpty(block.mimeType);
  switch (block.type) {
    case "image":
    case "audio":
      return filePart({ name: "", mediaType, source: bytesSource(block.data) });
    case "resource_link":
      return filePart({
        name: stringOrEmpty(block.name),
        mediaType,
        source: { case: "uri", value: stringOrEmpty(block.uri) },
      });
    case "resource": {
      const { uri, text, blob, mimeType } = objectOrEmpty(block.resource);
      const source =
        typeof text === "string"
          ? bytesSource(Buffer.from(text).toString("base64"))
          : bytesSource(blob);
      return filePart({
        name: stringOrEmpty(uri),
        mediaType: stringOrEmpty(mimeType),
        source,
      });
    }
    default:
      return undefined;
  }
}

/** Base64 of either alphabet, alone or in a `data:` URL. */
const BASE64 = /^(?:data:[^,]*;base64,)?[\w+/\s-]+={0,2}\s*$/;

function bytesSource(data: unknown): File["source"] {
  const base64 = stringOrEmpty(data).replace(/^data:[^,]*,/, "");
  return {
    case: "bytes",
    value: Uint8Array.from(Buffer.from(base64, "base64")),
  };
}

function filePart(file: Pick<File, "name" | "mediaType" | "source">): Part {
  return create(PartSchema, {
    content: { case: "file", value: create(FileSchema, file) },
  });
}
