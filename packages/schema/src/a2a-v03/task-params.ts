import type { JsonValue } from "@bufbuild/protobuf";
import { TaskIdParamsSchema, TaskQueryParamsSchema } from "../gen/devtool/a2a/v1alpha/envelope_pb.ts";
import { decodeRfcJson } from "../rfc-json.ts";
import { quote, WireError } from "../wire-error.ts";

/** Reads the parameters of a method that names a task. Throws a `WireError` when it names none. */
export function decodeTaskId(params: JsonValue | undefined): string {
  const { id } = decodeRfcJson(TaskIdParamsSchema, params ?? {});
  if (id === "") throw new WireError("id", "", "is missing: name the task");
  return id;
}

/** Reads the parameters of `tasks/get`; an absent history length asks for all of it. */
export function decodeTaskQuery(params: JsonValue | undefined): {
  readonly taskId: string;
  readonly historyLength: number | undefined;
} {
  const { historyLength } = decodeRfcJson(TaskQueryParamsSchema, params ?? {});
  if (historyLength !== undefined && historyLength < 0) {
    throw new WireError("historyLength", quote(historyLength), "must be 0 or more");
  }
  return { taskId: decodeTaskId(params), historyLength };
}
