import {
  create,
  type DescMessage,
  type JsonObject,
  type MessageInitShape,
  toJson,
} from "@bufbuild/protobuf";
import { objectOrEmpty } from "@devtool/internal/json";

/**
 * Encodes an event of AG-UI. Its `type` comes from the name of its message:
 * `RunStartedEvent` is `RUN_STARTED`.
 */
export function encodeEvent<Desc extends DescMessage>(
  schema: Desc,
  init: MessageInitShape<Desc>,
): JsonObject {
  const type = schema.name
    .replace(/Event$/, "")
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, "_")
    .toUpperCase();
  return { type, ...objectOrEmpty(toJson(schema, create(schema, init))) };
}
