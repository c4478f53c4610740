import { create, type JsonObject } from "@bufbuild/protobuf";
import { type File, FileSchema, type Part, PartSchema } from "@devtool/schema";
import { objectOrEmpty, stringOrEmpty } from "@devtool/schema/json";

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

/** Whether a content block is of a type of ACP, with what that type needs. */
export function isUsableBlock(block: JsonObject): boolean {
  switch (block.type) {
    case "text":
      return typeof block.text === "string";
    case "image":
    case "audio":
      return stringOrEmpty(block.data) !== "";
    case "resource_link":
      return typeof block.uri === "string";
    case "resource": {
      const { text, blob } = objectOrEmpty(block.resource);
      return typeof text === "string" || typeof blob === "string";
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

function bytesSource(base64: unknown): File["source"] {
  return {
    case: "bytes",
    value: Uint8Array.from(Buffer.from(stringOrEmpty(base64), "base64")),
  };
}

function filePart(file: Pick<File, "name" | "mediaType" | "source">): Part {
  return create(PartSchema, {
    content: { case: "file", value: create(FileSchema, file) },
  });
}
