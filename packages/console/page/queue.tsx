import { Code, ConnectError } from "@connectrpc/connect";
import type { Message, Task } from "@devtool/schema";
import { type ReactNode, useState } from "react";
import type { ConsoleClient } from "./console-client.ts";
import { scrollingAround, useFocusHeir } from "./focus.ts";
import { problemText } from "./problem-text.ts";
import { words } from "./words.ts";

interface QueueProps {
  readonly client: ConsoleClient;
  readonly task: Task;
}

/** The messages in the queue of the agent. Each can be withdrawn. */
export function Queue({ client, task }: QueueProps): ReactNode {
  return task.queuedMessages.map(
    ({ message }) =>
      message && (
        <QueuedMessage
          key={message.messageId}
          client={client}
          taskId={task.id}
          message={message}
        />
      ),
  );
}

function QueuedMessage({
  client,
  taskId,
  message,
}: {
  readonly client: ConsoleClient;
  readonly taskId: string;
  readonly message: Message;
}): ReactNode {
  const row = useFocusHeir<HTMLDivElement>(scrollingAround);
  const [problem, setProblem] = useState("");
  const withdraw = async (): Promise<void> => {
    setProblem("");
    const { messageId } = message;
    try {
      await client.tasks.withdrawMessage({ taskId, messageId });
    } catch (reason) {
      // The agent took the message meanwhile: the conversation shows it then.
      if (ConnectError.from(reason).code === Code.FailedPrecondition) return;
      setProblem(problemText(reason));
    }
  };
  return (
    <div ref={row} className="queued">
      <MessageText message={message} />
      <span>{words.queued}</span>
      <button type="button" onClick={() => void withdraw()}>
        {words.withdraw}
      </button>
      {problem && <p role="alert">{problem}</p>}
    </div>
  );
}

/** The messages that the server does not have yet. */
export function Unsent({
  messages,
}: {
  readonly messages: readonly Message[];
}): ReactNode {
  if (messages.length === 0) return null;
  return (
    <div className="queued">
      {messages.map((message) => (
        <MessageText key={message.messageId} message={message} />
      ))}
      <span>{words.sending}</span>
    </div>
  );
}

/** The text of a message as it was written; nothing for an answer without one. */
function MessageText({ message }: { readonly message: Message }): ReactNode {
  const text = message.parts
    .flatMap(({ content }) => (content.case === "text" ? [content.value] : []))
    .join("\n");
  return text !== "" && <p className="prompt">{text}</p>;
}
