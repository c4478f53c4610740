/**
 * A page that talks to an agent: it streams text, shows what the agent asks,
 * and sends the answer. The address of the page names the server and the token:
 * `index.html#url=http://127.0.0.1:41242&token=…`
 */
import { create } from "@bufbuild/protobuf";
import { createConnectTransport } from "@connectrpc/connect-web";
import {
  bearerInterceptor,
  confirmationPart,
  createDevtoolClient,
  pendingToolCalls,
  streamMessage,
  textMessage,
} from "@devtool/client";
import {
  emptyTask,
  type Message,
  MessageSchema,
  reduceTask,
  type TaskEvent,
  TaskState,
  type ToolCall,
  ToolCallStatus,
} from "@devtool/schema";

const address = new URLSearchParams(location.hash.slice(1));
const transport = createConnectTransport({
  baseUrl: address.get("url") ?? "http://127.0.0.1:41242",
  interceptors: [bearerInterceptor(address.get("token") ?? "")],
});
const client = createDevtoolClient(transport);
const events = find("events");
const questions = find("questions");
let task = emptyTask();

find("prompt").addEventListener("submit", (event) => {
  event.preventDefault();
  const input = document.querySelector("textarea");
  if (input === null) return;
  void send(textMessage(crypto.randomUUID(), input.value));
  input.value = "";
});

/**
 * Sends a message and shows the events of its exchange, then the questions that
 * are open.
 */
async function send(message: Message): Promise<void> {
  questions.replaceChildren();
  // A task that has ended goes on with another message, so a conversation stays
  // one task.
  const exchange = streamMessage(
    client,
    { message, taskId: task.id },
    AbortSignal.timeout(600_000),
  );
  try {
    for await (const event of exchange) {
      task = reduceTask(task, event);
      show(event);
    }
  } catch (reason) {
    addLine("error", String(reason));
  }
  for (const call of pendingToolCalls(task)) ask(call);
}

/** Shows an event, if it is of a kind that this page shows. */
function show({ payload, state }: TaskEvent): void {
  if (payload.case === "text") addLine("text", payload.value.text);
  if (payload.case === "thought") addLine("thought", payload.value.subject);
  if (payload.case === "toolCall") {
    addLine(
      "call",
      `${payload.value.toolName} ${ToolCallStatus[payload.value.status]}`,
    );
  }
  if (payload.case === "stateChange") addLine("state", TaskState[state]);
}

/** Shows a button for each answer to a question. */
function ask(call: ToolCall): void {
  questions.append(call.description || call.toolName);
  for (const { id, name } of call.confirmationRequest?.options ?? []) {
    const button = document.createElement("button");
    button.textContent = name;
    button.value = id;
    button.addEventListener("click", () => {
      void send(
        create(MessageSchema, {
          messageId: crypto.randomUUID(),
          parts: [confirmationPart(call, id)],
        }),
      );
    });
    questions.append(button);
  }
}

/**
 * Adds a line to the list of events. Text of an agent is never inserted as
 * HTML.
 */
function addLine(kind: string, text: string): void {
  const line = document.createElement("li");
  line.className = kind;
  line.textContent = text;
  events.append(line);
}

function find(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`element "${id}" is missing`);
  return element;
}
