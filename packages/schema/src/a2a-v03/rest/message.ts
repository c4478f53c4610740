import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { defined, listOrEmpty, objectOrEmpty } from "@devtool/internal/json";
import { mapList, mapObject } from "./map-json.ts";

/**
 * Writes a message in ProtoJSON.
 *
 * `referenceTaskIds` is omitted: the proto of A2A 0.3 has no such field, and
 * strict readers reject unknown fields.
 */
export function messageToRest(json: JsonValue | undefined): JsonObject {
  const {
    kind: _kind,
    referenceTaskIds: _tasks,
    role,
    parts,
    ...rest
  } = objectOrEmpty(json);
  return defined({
    ...rest,
    role: role === undefined ? undefined : (ROLES_WRITTEN.get(role) ?? role),
    content: partsToRest(parts),
  });
}

const ROLES_WRITTEN: ReadonlyMap<JsonValue, string> = new Map<
  JsonValue,
  string
>([
  ["user", "ROLE_USER"],
  ["agent", "ROLE_AGENT"],
]);

/** Reads a message in either form. */
export function messageFromRest(json: JsonValue): JsonValue {
  return mapObject(json, ({ content, parts, role, ...rest }) =>
    defined({
      ...rest,
      role: role === undefined ? undefined : (ROLES_READ.get(role) ?? role),
      parts: partsFromRest(parts ?? content ?? []),
    }),
  );
}

const ROLES_READ: ReadonlyMap<JsonValue, string> = new Map<JsonValue, string>([
  ["ROLE_USER", "user"],
  [1, "user"],
  ["ROLE_AGENT", "agent"],
  [2, "agent"],
]);

/**
 * Writes parts in ProtoJSON, where the name of a field is the kind, and data
 * has a message of its own.
 */
export function partsToRest(parts: JsonValue | undefined): JsonObject[] {
  return listOrEmpty(parts).map((json) => {
    const { kind: _kind, file, data, ...part } = objectOrEmpty(json);
    if (file !== undefined) {
      const { uri, bytes, ...rest } = objectOrEmpty(file);
      return {
        ...part,
        file: defined({ ...rest, fileWithUri: uri, fileWithBytes: bytes }),
      };
    }
    return data === undefined ? part : { ...part, data: { data } };
  });
}

/** Reads parts in either form. */
export function partsFromRest(parts: JsonValue): JsonValue {
  return mapList(parts, (json) =>
    mapObject(json, (part) => {
      if ("kind" in part) return part;
      const { text, file, data, ...rest } = part;
      if (text !== undefined) return { ...rest, kind: "text", text };
      if (file === undefined) {
        return {
          ...rest,
          kind: "data",
          data: objectOrEmpty(data).data ?? data ?? null,
        };
      }
      const converted = mapObject(
        file,
        ({
          fileWithUri,
          file_with_uri,
          fileWithBytes,
          file_with_bytes,
          uri = fileWithUri ?? file_with_uri,
          bytes = fileWithBytes ?? file_with_bytes,
          ...others
        }) => defined({ ...others, uri, bytes }),
      );
      return { ...rest, kind: "file", file: converted };
    }),
  );
}
