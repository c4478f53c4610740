import type { Message, Part } from "./gen/devtool/v1alpha/task_pb.ts";

/**
 * Returns whether clients without the extension see a part of a message
 * (CARD-3).
 */
export function isPlainPart({ content }: Pick<Part, "content">): boolean {
  return PLAIN_PARTS.has(content.case);
}

const PLAIN_PARTS: ReadonlySet<Message["parts"][number]["content"]["case"]> =
  new Set(["text", "file", "data", "dataValue"]);
