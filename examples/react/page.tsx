/**
 * A page with the sessions of a server, and one of them: it streams, and asks
 * with content that can be changed. The address of the page names the server
 * and the token: `index.html#url=http://127.0.0.1:41242&token=…`
 */
import { createConnectTransport } from "@connectrpc/connect-web";
import {
  bearerInterceptor,
  createDevtoolClient,
  type TaskItem,
} from "@devtool/client";
import { MessageList, useAgents, useSessions, useTask } from "@devtool/react";
import { TaskState } from "@devtool/schema";
import { type ReactNode, StrictMode, useState } from "react";
import { createRoot } from "react-dom/client";
import { Approval } from "./approval.tsx";
import { ToolCall } from "./tool-call.tsx";

const { url = "http://127.0.0.1:41242", token = "" } = Object.fromEntries(
  new URLSearchParams(location.hash.slice(1)),
);
const client = createDevtoolClient(
  createConnectTransport({
    baseUrl: url,
    interceptors: [bearerInterceptor(token)],
  }),
);

function Page(): ReactNode {
  // A key of its own for each new session: one that has started has no id in
  // the properties, either.
  const [{ key, taskId }, open] = useState<{
    readonly key: string;
    readonly taskId?: string;
  }>({ key: "first" });
  const { sessions } = useSessions(client);
  const { agents } = useAgents(client);
  return (
    <>
      <h1>{agents.map(({ displayName }) => displayName).join(", ")}</h1>
      <nav>
        <button
          type="button"
          onClick={() => open({ key: crypto.randomUUID() })}
        >
          New session
        </button>
        {sessions.map(({ id, title, lastEvent }) => (
          <button
            key={id}
            type="button"
            onClick={() => open({ key: id, taskId: id })}
          >
            {title} ({TaskState[lastEvent?.state ?? TaskState.UNSPECIFIED]})
          </button>
        ))}
      </nav>
      <Session key={key} taskId={taskId} />
    </>
  );
}

function Session({
  taskId,
}: {
  readonly taskId: string | undefined;
}): ReactNode {
  const { task, items, questions, unsent, lost, failure, send, answer } =
    useTask(client, {
      ...(taskId !== undefined && { taskId }),
      clientLabel: "example",
    });
  const problem = failure ?? lost;
  return (
    <section aria-label="Session">
      <MessageList items={items} renderItem={renderItem} />
      {questions.map((question) => (
        <Approval
          key={question.toolCallId}
          question={question}
          answer={answer}
        />
      ))}
      {unsent.length > 0 && <p>Sending …</p>}
      {problem && <p role="alert">{problem.message}</p>}
      <p className="state">{TaskState[task.state]}</p>
      <form action={(data) => void send(String(data.get("prompt")))}>
        <textarea name="prompt" aria-label="Message" required />
        <button type="submit">Send</button>
      </form>
    </section>
  );
}

/**
 * Outside of components, so that it stays the same: items that have not changed
 * are not rendered again.
 */
function renderItem({ part }: TaskItem): ReactNode {
  const { content } = part;
  switch (content.case) {
    case "text":
      return <p className="text">{content.value}</p>;
    case "thought":
      return <p className="thought">{content.value.subject}</p>;
    case "toolCall":
      return <ToolCall part={part} />;
    default:
      return null;
  }
}

const root = document.getElementById("page");
if (!root) throw new Error('element "page" is missing');
createRoot(root).render(
  <StrictMode>
    <Page />
  </StrictMode>,
);
