import type { Task } from "@devtool/schema";
import type { ReactNode } from "react";
import type { ConsoleClient } from "./console-client.ts";
import { words } from "./words.ts";

export interface QueueProps {
  readonly client: ConsoleClient;
  readonly task: Task;
}

/** The messages in the queue of the agent. Each can be withdrawn. */
export function Queue({ client, task }: QueueProps): ReactNode {
  // The server refuses to withdraw a message that the agent took meanwhile; the conversation shows that message then.
  const withdraw = (messageId: string): void => {
    void client.tasks.withdrawMessage({ taskId: task.id, messageId }).catch(() => undefined);
  };
  return task.queuedMessages.map(({ message }) => {
    if (!message) return null;
    return (
      <div key={message.messageId} className="queued">
        <p className="prompt">
          {message.parts.flatMap(({ content }) => (content.case === "text" ? [content.value] : [])).join("\n")}
        </p>
        <span>{words.queued}</span>
        <button type="button" onClick={() => withdraw(message.messageId)}>
          {words.withdraw}
        </button>
      </div>
    );
  });
}
