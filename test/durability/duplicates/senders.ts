import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { TaskService } from "@devtool/schema";
import { REPLAY_URI } from "@devtool/schema/testing";

/** The URL and token of a server. */
export interface Target {
  readonly url: string;
  readonly token: string;
}

/** A message: its id, its text, and its task, if any. */
export interface OutgoingMessage {
  readonly messageId: string;
  readonly text: string;
  readonly taskId?: string;
}

/** The result of a message. */
export type Outcome =
  | {
      readonly case: "answered";
      readonly taskId: string;
      readonly isReplay: boolean;
    }
  | { readonly case: "conflict" };

/**
 * Sends a message over one binding, every other one as a stream. Throws when
 * there is no answer, or an unexpected error.
 */
export interface Sender {
  readonly name: string;
  send(
    target: Target,
    message: OutgoingMessage,
    index: number,
  ): Promise<Outcome>;
}

/** A sender for each binding. */
export const SENDERS: readonly Sender[] = [
  {
    name: "JSON-RPC of A2A 0.3",
    send: (target, { messageId, text, taskId }, index) => {
      const message = {
        kind: "message",
        role: "user",
        messageId,
        parts: [{ kind: "text", text }],
        taskId,
      };
      return rpc(target, index % 2 === 0 ? "message/send" : "message/stream", {
        message,
      });
    },
  },
  {
    name: "JSON-RPC of A2A 1.0",
    send: (target, { messageId, text, taskId }, index) => {
      const message = {
        role: "ROLE_USER",
        messageId,
        parts: [{ text }],
        taskId,
      };
      return rpc(
        target,
        index % 2 === 0 ? "SendMessage" : "SendStreamingMessage",
        { message },
      );
    },
  },
  { name: "Connect", send: connect },
];

async function rpc(
  { url, token }: Target,
  method: string,
  params: object,
): Promise<Outcome> {
  const headers = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const text = await (
    await fetch(url, { method: "POST", headers, body })
  ).text();
  const [first = ""] = text.startsWith("{")
    ? [text]
    : (/(?<=^data: ).*$/m.exec(text) ?? []);
  const { result, error } = JSON.parse(first);
  if (error?.code === -32051) return { case: "conflict" };
  if (error !== undefined) throw new Error(first);
  const { id, taskId, metadata } = result.task ?? result.statusUpdate ?? result;
  return {
    case: "answered",
    taskId: taskId ?? id,
    isReplay: metadata?.[REPLAY_URI] !== undefined,
  };
}

async function connect(
  { url, token }: Target,
  { messageId, text, taskId = "" }: OutgoingMessage,
  index: number,
): Promise<Outcome> {
  const authorization = { authorization: `Bearer ${token}` };
  const { sendMessage, streamMessage } = createClient(
    TaskService,
    createConnectTransport({ baseUrl: url, httpVersion: "1.1" }),
  );
  const request = {
    message: {
      messageId,
      parts: [{ content: { case: "text", value: text } as const }],
    },
    taskId,
  };
  try {
    if (index % 2 === 0) {
      const { task, replay } = await sendMessage(request, {
        headers: authorization,
      });
      return {
        case: "answered",
        taskId: task?.id ?? "",
        isReplay: replay !== undefined,
      };
    }
    const outcomes: Outcome[] = [];
    for await (const { event, replay } of streamMessage(
      { request },
      { headers: authorization },
    )) {
      outcomes.push({
        case: "answered",
        taskId: event?.taskId ?? "",
        isReplay: replay !== undefined,
      });
    }
    const [first] = outcomes;
    if (first) return first;
    throw new Error("a stream without events");
  } catch (reason) {
    if (reason instanceof ConnectError && reason.code === Code.AlreadyExists) {
      return { case: "conflict" };
    }
    throw reason;
  }
}
