import { create, fromJson, type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import {
  FileContentSchema,
  type Part as PartV03,
  PartSchema as PartV03Schema,
} from "../gen/devtool/a2a/v1alpha/envelope_pb.ts";
import { type Part, PartSchema } from "../gen/lf/a2a/v1/a2a_pb.ts";
import { isObject } from "../rfc-json.ts";
import { WireError } from "../wire-error.ts";

/** Under this name both official SDKs tell that an object only wraps data that is none: 0.3 knows objects alone. */
const WRAPPED = "data_part_compat";

/** Writes a piece of A2A 0.3 in the form of 1.0: without a kind, its data any JSON value. */
export function partFromV03(part: PartV03): Part {
  return create(PartSchema, { ...contentFromV03(part), ...(part.metadata && { metadata: part.metadata }) });
}

function contentFromV03({ kind, text, file, data, metadata }: PartV03): Partial<Omit<Part, "$typeName">> {
  if (kind === "file" && file) {
    const { source } = file;
    const named = { filename: file.name, mediaType: file.mimeType };
    if (source.case === "bytes") return { content: { case: "raw", value: source.value }, ...named };
    return { content: { case: "url", value: source.value ?? "" }, ...named };
  }
  if (kind === "data") {
    const value = metadata?.[WRAPPED] === true ? (data?.value ?? null) : (data ?? {});
    return { content: { case: "data", value: jsonValue(value) } };
  }
  return { content: { case: "text", value: text ?? "" } };
}

/** Reads a piece of A2A 1.0 in the form of 0.3. Throws a `WireError` when it holds nothing. */
export function partToV03({ content, metadata, filename, mediaType }: Part, path: string): PartV03 {
  const named = { name: filename, mimeType: mediaType };
  const own = metadata && { metadata };
  switch (content.case) {
    case "text":
      return create(PartV03Schema, { kind: "text", text: content.value, ...own });
    case "raw":
      return filePart({ ...named, source: { case: "bytes", value: content.value } }, own);
    case "url":
      return filePart({ ...named, source: { case: "uri", value: content.value } }, own);
    case "data":
      return dataPart(toJson(ValueSchema, content.value), metadata);
    case undefined:
      throw new WireError(path, "", "holds nothing: a part has text, raw, url or data");
    default:
      return content satisfies never;
  }
}

function filePart(
  file: {
    readonly name: string;
    readonly mimeType: string;
    readonly source: NonNullable<PartV03["file"]>["source"];
  },
  own: { readonly metadata: JsonObject } | undefined,
): PartV03 {
  return create(PartV03Schema, { kind: "file", file: create(FileContentSchema, file), ...own });
}

function dataPart(value: JsonValue, metadata: JsonObject | undefined): PartV03 {
  if (isObject(value)) return create(PartV03Schema, { kind: "data", data: value, ...(metadata && { metadata }) });
  return create(PartV03Schema, { kind: "data", data: { value }, metadata: { ...metadata, [WRAPPED]: true } });
}

/** A JSON value as the message that stands for it. */
export function jsonValue(json: JsonValue): Value {
  return fromJson(ValueSchema, json);
}
