import { readFile, stat } from "node:fs/promises";
import { extname } from "node:path";
import { create } from "@bufbuild/protobuf";
import { type Part, PartSchema } from "@devtool/schema";

/**
 * Maximum size of the files of one message in bytes, together.
 *
 * A server takes requests of 4 MiB, in which some protocols write bytes as
 * base64.
 */
export const MAX_ATTACHED_BYTES: number = 2.5 * 1024 * 1024;

/** Maximum size of an attached text in bytes. */
const MAX_TEXT_BYTES = 256 * 1024;

const IMAGES: ReadonlyMap<string, string> = new Map([
  [".png", "image/png"],
  [".jpg", "image/jpeg"],
  [".jpeg", "image/jpeg"],
  [".gif", "image/gif"],
  [".webp", "image/webp"],
]);

/**
 * Returns the media type of an image by the ending of its name; undefined for
 * another file.
 */
export function imageType(path: string): string | undefined {
  return IMAGES.get(extname(path).toLowerCase());
}

/**
 * Reads a file as a part of a message: as an image if its name has the ending
 * of one, otherwise as text.
 *
 * Returns a message that says what is wrong, if the file cannot be attached.
 *
 * @param name the name of the file that the agent sees
 */
export async function readAttachment(
  path: string,
  name: string,
): Promise<Part | string> {
  const mediaType = imageType(name);
  const limit = mediaType === undefined ? MAX_TEXT_BYTES : MAX_ATTACHED_BYTES;
  const found = await stat(path);
  // A pipe or a device may have no end.
  if (!found.isFile()) return `"${name}" is not a regular file`;
  const { size } = found;
  if (size > limit) return `"${name}" has ${size} bytes, the limit is ${limit}`;
  const bytes = await readFile(path);
  if (mediaType !== undefined) {
    const source = { case: "bytes" as const, value: new Uint8Array(bytes) };
    return create(PartSchema, {
      content: { case: "file", value: { name, mediaType, source } },
    });
  }
  if (bytes.includes(0)) return `"${name}" is neither text nor an image`;
  return create(PartSchema, {
    content: { case: "text", value: bytes.toString("utf8") },
    fileName: name,
  });
}

/** Returns the size of the content of an attached part in bytes. */
export function attachedBytes({ content }: Part): number {
  if (content.case === "text") return Buffer.byteLength(content.value);
  return content.case === "file" && content.value.source.case === "bytes"
    ? content.value.source.value.length
    : 0;
}
