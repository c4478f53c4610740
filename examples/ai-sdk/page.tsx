/**
 * A chat with an agent by `useChat` of Vercel's AI SDK, without a server
 * between them. The address of the page names the agent's server and the token:
 * `index.html#url=http://127.0.0.1:41242&token=…`
 */
import { useChat } from "@ai-sdk/react";
import { createConnectTransport } from "@connectrpc/connect-web";
import { bearerInterceptor, createDevtoolClient } from "@devtool/client";
import {
  type AgentUIMessage,
  createChatTransport,
} from "@devtool/client/ai-sdk";
import {
  type DynamicToolUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses,
} from "ai";
import type { ReactNode } from "react";
import { createRoot } from "react-dom/client";

const { url = "http://127.0.0.1:41242", token = "" } = Object.fromEntries(
  new URLSearchParams(location.hash.slice(1)),
);
const client = createDevtoolClient(
  createConnectTransport({
    baseUrl: url,
    interceptors: [bearerInterceptor(token)],
  }),
);

// The tab keeps the task of its chat, so that the page can be loaded again
// while the agent works.
const TASK = "task";
const transport = createChatTransport(client, {
  taskIdOf: () => sessionStorage.getItem(TASK) ?? undefined,
  clientLabel: "example",
});

type Approve = (answer: {
  id: string;
  approved: boolean;
}) => void | PromiseLike<void>;

function Page(): ReactNode {
  const { messages, status, error, sendMessage, addToolApprovalResponse } =
    useChat<AgentUIMessage>({
      transport,
      resume: true,
      sendAutomaticallyWhen:
        lastAssistantMessageIsCompleteWithApprovalResponses,
    });
  const taskId = messages.findLast(({ metadata }) => metadata)?.metadata
    ?.taskId;
  if (taskId !== undefined) sessionStorage.setItem(TASK, taskId);
  return (
    <>
      {messages.map((message) => (
        <Message
          key={message.id}
          message={message}
          approve={addToolApprovalResponse}
        />
      ))}
      {error && <p role="alert">{error.message}</p>}
      <p className="status">{status}</p>
      <form
        action={(data) =>
          void sendMessage({ text: String(data.get("prompt")) })
        }
      >
        <textarea name="prompt" aria-label="Message" required />
        <button type="submit">Send</button>
      </form>
    </>
  );
}

function Message({
  message,
  approve,
}: {
  readonly message: AgentUIMessage;
  readonly approve: Approve;
}): ReactNode {
  return message.parts.map((part, index) => {
    const key = `${message.id}-${index}`;
    switch (part.type) {
      case "text":
      case "reasoning":
        return (
          <p key={key} className={`${message.role} ${part.type}`}>
            {part.text}
          </p>
        );
      case "dynamic-tool":
        return <ToolCall key={part.toolCallId} call={part} approve={approve} />;
      default:
        return null;
    }
  });
}

/** A tool call as it is shown, and the question that it asks. */
function ToolCall({
  call,
  approve,
}: {
  readonly call: DynamicToolUIPart;
  readonly approve: Approve;
}): ReactNode {
  return (
    <section className="call" aria-label={call.title ?? call.toolName}>
      <p>
        {call.title ?? call.toolName}: {call.state}
      </p>
      <pre>
        {JSON.stringify(
          call.state === "output-available" ? call.output : call.input,
          null,
          2,
        )}
      </pre>
      {call.state === "output-error" && <pre>{call.errorText}</pre>}
      {call.state === "approval-requested" && (
        <>
          <button
            type="button"
            onClick={() =>
              void approve({ id: call.approval.id, approved: true })
            }
          >
            Allow once
          </button>
          <button
            type="button"
            onClick={() =>
              void approve({ id: call.approval.id, approved: false })
            }
          >
            Decline
          </button>
        </>
      )}
    </section>
  );
}

const root = document.getElementById("page");
if (!root) throw new Error('element "page" is missing');
createRoot(root).render(<Page />);
