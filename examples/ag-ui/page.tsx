/**
 * A chat with an agent by `HttpAgent`, the client of AG-UI, without a server
 * between them. The address of the page names the agent's server and the token:
 * `index.html#url=http://127.0.0.1:41242&token=…`
 */
import {
  HttpAgent,
  type Interrupt,
  type Message,
  type RunAgentParameters,
} from "@ag-ui/client";
import { type ReactNode, useCallback, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";

const { url = "http://127.0.0.1:41242", token = "" } = Object.fromEntries(
  new URLSearchParams(location.hash.slice(1)),
);

// The tab keeps its thread, so that the page can be loaded again while the
// agent works.
const THREAD = "thread";
const kept = sessionStorage.getItem(THREAD);
const threadId = kept ?? crypto.randomUUID();
sessionStorage.setItem(THREAD, threadId);

const agent = new HttpAgent({
  url: `${url}/ag-ui`,
  headers: { authorization: `Bearer ${token}` },
  threadId,
});

function Page(): ReactNode {
  const [messages, setMessages] = useState<Message[]>([]);
  const [interrupts, setInterrupts] = useState<Interrupt[]>([]);
  const [error, setError] = useState("");

  const run = useCallback(
    async (parameters: RunAgentParameters = {}): Promise<void> => {
      setError("");
      setInterrupts([]);
      try {
        await agent.runAgent(parameters, {
          onMessagesChanged: ({ messages: changed }) =>
            setMessages([...structuredClone(changed)]),
          onRunErrorEvent: ({ event }) => setError(event.message),
        });
      } catch (reason) {
        setError(String(reason));
      }
      setInterrupts([...agent.pendingInterrupts]);
    },
    [],
  );
  useEffect(() => {
    // A run that says nothing new shows the thread, and goes on live.
    if (kept !== null) void run();
  }, [run]);

  return (
    <>
      {messages.map((message) => (
        <Line key={message.id} message={message} />
      ))}
      {interrupts.length > 0 && (
        <Questions
          interrupts={interrupts}
          answer={(resume) => void run({ resume })}
        />
      )}
      {error !== "" && <p role="alert">{error}</p>}
      <form
        action={(data) => {
          agent.addMessage({
            id: crypto.randomUUID(),
            role: "user",
            content: String(data.get("prompt")),
          });
          void run();
        }}
      >
        <textarea name="prompt" aria-label="Message" required />
        <button type="submit">Send</button>
      </form>
    </>
  );
}

function Line({ message }: { readonly message: Message }): ReactNode {
  switch (message.role) {
    case "user":
    case "assistant":
    case "reasoning":
    case "tool":
      return (
        <p className={message.role}>
          {typeof message.content === "string" ? message.content : ""}
        </p>
      );
    case "activity":
      return <pre>{JSON.stringify(message.content, null, 2)}</pre>;
    default:
      return null;
  }
}

type Resume = NonNullable<RunAgentParameters["resume"]>;

interface QuestionsProps {
  readonly interrupts: readonly Interrupt[];
  readonly answer: (resume: Resume) => void;
}

/** All open questions. They are answered together, as AG-UI asks. */
function Questions({ interrupts, answer }: QuestionsProps): ReactNode {
  const [answers, setAnswers] = useState<Resume>([]);
  function give(interruptId: string, payload: object): void {
    const given = [
      ...answers.filter((other) => other.interruptId !== interruptId),
      { interruptId, status: "resolved" as const, payload },
    ];
    if (given.length === interrupts.length) {
      answer(given);
    } else {
      setAnswers(given);
    }
  }
  return interrupts.map(({ id, reason, message, metadata }) => (
    <section key={id} aria-label={message}>
      <p>{message}</p>
      <pre>{JSON.stringify(metadata, null, 2)}</pre>
      {reason === "tool_call" ? (
        <>
          <button type="button" onClick={() => give(id, { approved: true })}>
            Allow once
          </button>
          <button type="button" onClick={() => give(id, { approved: false })}>
            Decline
          </button>
        </>
      ) : (
        <form action={(data) => give(id, { text: String(data.get("text")) })}>
          <input name="text" aria-label="Answer" required />
        </form>
      )}
    </section>
  ));
}

const root = document.getElementById("page");
if (!root) throw new Error('element "page" is missing');
createRoot(root).render(<Page />);
