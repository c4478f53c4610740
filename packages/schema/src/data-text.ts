import { toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import type { Part } from "./gen/devtool/v1alpha/task_pb.ts";

/**
 * The content of a part that is structured data: an object, or in `dataValue`
 * any other value of JSON.
 */
export type DataContent = Extract<
  Part["content"],
  { case: "data" | "dataValue" }
>;

/**
 * Returns structured data as JSON text, for readers that take only text.
 *
 * @param indent the number of spaces by which nested lines are indented; 0, the
 * default, for one line
 */
export function dataText(content: DataContent, indent = 0): string {
  const json =
    content.case === "data"
      ? content.value
      : toJson(ValueSchema, content.value);
  return JSON.stringify(json, undefined, indent);
}
