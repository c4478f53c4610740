import {
  create,
  type DescMessage,
  type JsonObject,
  type MessageInitShape,
  toJson,
} from "@bufbuild/protobuf";
import { objectOrEmpty } from "@devtool/internal/json";
import { snakeCase } from "@devtool/internal/snake-case";

/**
 * Encodes an event of AG-UI. Its `type` comes from the name of its message:
 * `RunStartedEvent` is `RUN_STARTED`.
 */
export function encodeEvent<Desc extends DescMessage>(
  schema: Desc,
  init: MessageInitShape<Desc>,
): JsonObject {
  const type = snakeCase(schema.name.replace(/Event$/, "")).toUpperCase();
  return { type, ...objectOrEmpty(toJson(schema, create(schema, init))) };
}
