import { dataText, type File, type Part } from "@devtool/schema";

/** A part of a user's file, in the form that both APIs of OpenAI have. */
export type FileContent =
  | { readonly case: "text"; readonly text: string }
  | { readonly case: "image"; readonly url: string }
  | { readonly case: "document"; readonly name: string; readonly data: string };

/**
 * Returns the text of a user's part: none for an empty part, and for a part
 * that is encoded in another way.
 */
export function encodeUserText(
  content: Exclude<Part["content"], { case: "file" }>,
): string[] {
  switch (content.case) {
    case "text":
      return content.value === "" ? [] : [content.value];
    case "data":
    case "dataValue":
      return [dataText(content)];
    case "thought":
    case "toolCall":
    case "confirmation":
    case "summary":
    case "citation":
    case undefined:
      return [];
    default:
      return content satisfies never;
  }
}

/**
 * Encodes a file: images and PDF documents as they are, text as text. Of any
 * other file the model learns the name only.
 */
export function encodeFile({ name, mediaType, source }: File): FileContent[] {
  const label: FileContent[] =
    name === ""
      ? []
      : [{ case: "text", text: `File ${JSON.stringify(name)}:` }];
  const isImage = /^image\/(png|jpeg|gif|webp)$/.test(mediaType);
  switch (source.case) {
    case "bytes": {
      const url = `data:${mediaType};base64,${Buffer.from(source.value).toString("base64")}`;
      if (isImage) return [...label, { case: "image", url }];
      if (mediaType === "application/pdf") {
        return [
          ...label,
          { case: "document", name: name || "file.pdf", data: url },
        ];
      }
      if (/^text\/|[/+]json$/.test(mediaType)) {
        return [
          ...label,
          { case: "text", text: new TextDecoder().decode(source.value) },
        ];
      }
      return [
        ...label,
        {
          case: "text",
          text: `(a file of the type ${mediaType || "unknown"}, which cannot be shown)`,
        },
      ];
    }
    case "uri":
      return [
        ...label,
        isImage
          ? { case: "image", url: source.value }
          : { case: "text", text: source.value },
      ];
    case undefined:
      return label;
    default:
      return source satisfies never;
  }
}
