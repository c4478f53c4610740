import type { Message, Task } from "@devtool/schema";
import type { ReactNode } from "react";
import type { ConsoleClient } from "./console-client.ts";
import { words } from "./words.ts";

export interface QueueProps {
  readonly client: ConsoleClient;
  readonly task: Task;
}

/** The messages that wait until the agent takes them. Each can be taken back. */
export function Queue({ client, task }: QueueProps): ReactNode {
  // A message that the agent took meanwhile is not taken back; the view shows it then.
  const withdraw = (messageId: string): void => {
    void client.tasks.withdrawMessage({ taskId: task.id, messageId }).catch(() => undefined);
  };
  return task.queuedMessages.map(({ message }) => {
    if (!message) return null;
    return (
      <div key={message.messageId} className="queued">
        <p className="prompt">{textIn(message)}</p>
        <span>{words.queued}</span>
        <button type="button" onClick={() => withdraw(message.messageId)}>
          {words.withdraw}
        </button>
      </div>
    );
  });
}

function textIn({ parts }: Message): string {
  return parts.flatMap(({ content }) => (content.case === "text" ? [content.value] : [])).join("\n");
}
