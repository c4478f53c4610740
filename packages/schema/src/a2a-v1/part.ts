import { create, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { isObject } from "@devtool/internal/json";
import {
  namesMetadata,
  splitNames,
  unwrapValue,
  wrapValue,
} from "../a2a-v03/part.ts";
import {
  type FileContent,
  type Part as PartV03,
  PartSchema as PartV03Schema,
} from "../gen/devtool/a2a/v1alpha/envelope_pb.ts";
import { type Part, PartSchema } from "../gen/lf/a2a/v1/a2a_pb.ts";
import { jsonValue } from "../rfc-json.ts";
import { WireError } from "../wire-error.ts";

/**
 * Converts a part of A2A 0.3 to one of 1.0, which has no kind, and whose data
 * is any JSON value.
 */
export function partFromV03(part: PartV03): Part {
  const found = unwrapValue(part);
  const { mediaType, fileName, metadata } = splitNames(
    found ? found.metadata : part.metadata,
  );
  return create(PartSchema, {
    filename: part.file?.name ?? fileName,
    mediaType: part.file?.mimeType ?? mediaType,
    content: found
      ? { case: "data", value: jsonValue(found.value) }
      : contentFromV03(part),
    metadata,
  });
}

function contentFromV03({
  kind,
  text = "",
  file,
  data = {},
}: PartV03): Part["content"] {
  if (kind === "file" && file) {
    const { source } = file;
    return source.case === "bytes"
      ? { case: "raw", value: source.value }
      : { case: "url", value: source.value ?? "" };
  }
  if (kind === "data") return { case: "data", value: jsonValue(data) };
  return { case: "text", value: text };
}

/**
 * Converts a part of A2A 1.0 to one of 0.3. Throws a `WireError` if it has no
 * content.
 */
export function partToV03(
  { content, metadata, filename, mediaType }: Part,
  path: string,
): PartV03 {
  const names = namesMetadata({ mediaType, fileName: filename });
  const withNames = metadata || names ? { ...metadata, ...names } : undefined;
  const ofFile = (source: FileContent["source"]): PartV03 => {
    const file = { name: filename, mimeType: mediaType, source };
    return create(PartV03Schema, { kind: "file", file, metadata });
  };
  switch (content.case) {
    case "text":
      return create(PartV03Schema, {
        kind: "text",
        text: content.value,
        metadata: withNames,
      });
    case "raw":
      return ofFile({ case: "bytes", value: content.value });
    case "url":
      return ofFile({ case: "uri", value: content.value });
    case "data": {
      const value = toJson(ValueSchema, content.value);
      const { data, metadata: mark } = isObject(value)
        ? { data: value, metadata: undefined }
        : wrapValue(value);
      return create(PartV03Schema, {
        kind: "data",
        data,
        metadata: mark ? { ...withNames, ...mark } : withNames,
      });
    }
    case undefined:
      throw new WireError(
        path,
        "",
        "holds nothing: a part has text, raw, url or data",
      );
    default:
      return content satisfies never;
  }
}
