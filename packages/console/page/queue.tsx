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
  return task.queuedMessages.map(({ message }) => {
    if (!message) return null;
    const { messageId, parts } = message;
    return (
      <div key={messageId} className="queued">
        <p className="prompt">
          {parts
            .flatMap(({ content }) =>
              content.case === "text" ? [content.value] : [],
            )
            .join("\n")}
        </p>
        <span>{words.queued}</span>
        {/* The server refuses to withdraw a message that the agent took meanwhile; the conversation shows that message then. */}
        <button
          type="button"
          onClick={() =>
            void client.tasks
              .withdrawMessage({ taskId: task.id, messageId })
              .catch(() => undefined)
          }
        >
          {words.withdraw}
        </button>
      </div>
    );
  });
}
