import { dataText, type File, type Part } from "@devtool/schema";

/** What a part of the user's message is for a model. */
export type UserContent =
  | { readonly case: "text"; readonly text: string }
  | { readonly case: "file"; readonly file: File };

/**
 * Returns what a model is given of a user's part: texts, structured data as
 * JSON, and files, each after a text with its name. Nothing for an empty text
 * and for answers.
 */
export function userContents({ content }: Part): UserContent[] {
  switch (content.case) {
    case "text":
      return content.value === ""
        ? []
        : [{ case: "text", text: content.value }];
    case "file": {
      const file = content.value;
      const label = `File ${JSON.stringify(file.name)}:`;
      return [
        ...(file.name === "" ? [] : [{ case: "text", text: label } as const]),
        ...(file.source.case ? [{ case: "file", file } as const] : []),
      ];
    }
    case "data":
    case "dataValue":
      return [{ case: "text", text: dataText(content) }];
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
 * Returns a file as text, for an API that does not take files of its type: its
 * content if it is text, its URI, or that it cannot be shown.
 */
export function fileText({ mediaType, source }: File): string {
  if (source.case !== "bytes") return source.value ?? "";
  return /^text\/|[/+]json$/.test(mediaType)
    ? new TextDecoder().decode(source.value)
    : `(a file of the type ${mediaType || "unknown"}, which cannot be shown)`;
}
