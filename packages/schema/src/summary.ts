import type { Message, Summary } from "./gen/devtool/v1alpha/task_pb.ts";

/**
 * Returns the summary that a message holds, or undefined for any other message.
 */
export function summaryOf({ parts }: Message): Summary | undefined {
  for (const { content } of parts) {
    if (content.case === "summary") return content.value;
  }
  return undefined;
}
