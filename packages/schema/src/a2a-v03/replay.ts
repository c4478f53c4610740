import { type JsonObject, toJson } from "@bufbuild/protobuf";
import { isObject } from "@devtool/internal/json";
import { REPLAY_URI } from "../extension.ts";
import {
  type Replay,
  ReplaySchema,
} from "../gen/devtool/v1alpha/task_service_pb.ts";
import { decodeRfcJson } from "../rfc-json.ts";

/**
 * Returns a `metadata` field with the mark that its object repeats an earlier
 * exchange (STREAM-7).
 */
export function withReplay(
  metadata: JsonObject | undefined,
  replay: Replay,
): JsonObject {
  const json = toJson(ReplaySchema, replay);
  return { ...metadata, [REPLAY_URI]: isObject(json) ? json : {} };
}

/**
 * Finds the mark of a repeated exchange in a `metadata` field. Undefined if
 * there is none. Throws a `WireError`.
 */
export function findReplay(
  metadata: JsonObject | undefined,
): Replay | undefined {
  const json = metadata?.[REPLAY_URI];
  return isObject(json) ? decodeRfcJson(ReplaySchema, json) : undefined;
}
