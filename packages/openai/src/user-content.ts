import { fileText, userContents } from "@devtool/coding-agent/model";
import type { File, Part } from "@devtool/schema";

/** A part of a user's message, in the form that both APIs of OpenAI have. */
export type UserPart =
  | { readonly case: "text"; readonly text: string }
  | { readonly case: "image"; readonly url: string }
  | { readonly case: "document"; readonly name: string; readonly data: string };

/** Encodes a part of the user's; none for what a model is not given. */
export function encodeUserPart(part: Part): UserPart[] {
  return userContents(part).map((content) =>
    content.case === "text" ? content : encodeFile(content.file),
  );
}

/**
 * Encodes a file: images and PDF documents as they are, text as text. Of any
 * other file the model learns the name only.
 */
function encodeFile(file: File): UserPart {
  const { name, mediaType, source } = file;
  const isImage = /^image\/(png|jpeg|gif|webp)$/.test(mediaType);
  if (isImage && source.case === "uri") {
    return { case: "image", url: source.value };
  }
  const isPdf = mediaType === "application/pdf";
  if ((isImage || isPdf) && source.case === "bytes") {
    const url = `data:${mediaType};base64,${Buffer.from(source.value).toString("base64")}`;
    return isImage
      ? { case: "image", url }
      : { case: "document", name: name || "file.pdf", data: url };
  }
  return { case: "text", text: fileText(file) };
}
