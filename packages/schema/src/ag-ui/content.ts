import { create, type JsonValue, toJson } from "@bufbuild/protobuf";
import { base64Decode, base64Encode } from "@bufbuild/protobuf/wire";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import { objectOrEmpty } from "@devtool/internal/json";
import type { Message as AgUiMessage } from "../gen/devtool/ag_ui/v1alpha/message_pb.ts";
import {
  ContentPartSchema,
  type PartSource,
  PartSourceSchema,
} from "../gen/devtool/ag_ui/v1alpha/message_pb.ts";
import {
  type File,
  FileSchema,
  type Part,
  PartSchema,
} from "../gen/devtool/v1alpha/task_pb.ts";
import { decodeRfcJson, jsonValue } from "../rfc-json.ts";
import { missing, mistyped, quote, WireError } from "../wire-error.ts";

/**
 * Returns the parts of a user's message.
 *
 * Throws a `WireError` that names the field below `path` for content that
 * cannot be sent to an agent.
 */
export function partsOfUser({ content }: AgUiMessage, path: string): Part[] {
  const json = content ? toJson(ValueSchema, content) : "";
  if (typeof json === "string") {
    return json === ""
      ? []
      : [create(PartSchema, { content: { case: "text", value: json } })];
  }
  if (!Array.isArray(json)) {
    throw mistyped(`${path}.content`, json, "text or a list of parts");
  }
  return json.map((item, index) => {
    const at = `${path}.content[${index}]`;
    const { type, text, source } = decodeRfcJson(ContentPartSchema, item, at);
    if (type === "text") {
      return create(PartSchema, { content: { case: "text", value: text } });
    }
    if (!MEDIA.has(type)) {
      throw new WireError(
        `${at}.type`,
        quote(type),
        `is not one of text, ${[...MEDIA].join(", ")}`,
      );
    }
    if (!source) {
      throw missing(`${at}.source`, "say where the bytes are");
    }
    const value = create(FileSchema, fileFromSource(source, `${at}.source`));
    return create(PartSchema, { content: { case: "file", value } });
  });
}

const MEDIA: ReadonlySet<string> = new Set([
  "image",
  "audio",
  "video",
  "document",
]);

/**
 * Returns the file that a source holds or points to. Throws a `WireError` that
 * names the field below `path` for any other source.
 */
function fileFromSource(
  { type, value, mimeType: mediaType }: PartSource,
  path: string,
): Pick<File, "mediaType" | "source"> {
  if (type === "url") return { mediaType, source: { case: "uri", value } };
  if (type !== "data") {
    throw new WireError(
      `${path}.type`,
      quote(type),
      "is not supported: send data or url",
    );
  }
  if (mediaType === "") {
    throw missing(`${path}.mimeType`, "name the media type");
  }
  try {
    return { mediaType, source: { case: "bytes", value: base64Decode(value) } };
  } catch (cause) {
    throw new WireError(
      `${path}.value`,
      quote(value),
      "is not base64: encode the bytes so",
      { cause },
    );
  }
}

/**
 * Returns the texts and files of a message as content of AG-UI: plain text if
 * it is one text. Undefined if it has neither.
 */
export function contentOf(parts: readonly Part[]): Value | undefined {
  const texts = parts.flatMap(({ content }) =>
    content.case === "text" ? [content.value] : [],
  );
  const files = parts.flatMap(({ content }) =>
    content.case === "file" ? [content.value] : [],
  );
  if (texts.length === 0 && files.length === 0) return undefined;
  if (files.length === 0 && texts.length === 1) {
    return jsonValue(texts.join(""));
  }
  const media = files.map(({ mediaType, source }): JsonValue => {
    const [kind] = mediaType.split("/", 1);
    const mimeType = mediaType || "application/octet-stream";
    const where =
      source.case === "uri"
        ? { type: "url", value: source.value, mimeType: mediaType }
        : {
            type: "data",
            value: base64Encode(source.value ?? new Uint8Array()),
            mimeType,
          };
    const type = kind !== undefined && MEDIA.has(kind) ? kind : "document";
    return {
      type,
      source: objectOrEmpty(
        toJson(PartSourceSchema, create(PartSourceSchema, where)),
      ),
    };
  });
  return jsonValue([
    ...texts.map((text): JsonValue => ({ type: "text", text })),
    ...media,
  ]);
}
