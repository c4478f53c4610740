import type { JsonObject } from "@bufbuild/protobuf";
import { textMessage } from "@devtool/client";
import { type Address, CLIENTS } from "../client-of.ts";
import { bindingsOf } from "../conformance/tck/bindings.ts";

/** A message to send, and where to post its events. */
export interface Sending {
  readonly messageId: string;
  readonly text: string;
  readonly hook: string;
}

/** Sends a message with headers, and waits for the end of its exchange. */
export type Sender = (
  server: Address,
  sending: Sending,
  headers: Readonly<Record<string, string>>,
) => Promise<void>;

/** Who sends a message over each binding, with the method of A2A 1.0 that it is. */
export const SENDERS: Readonly<
  Record<string, { readonly method: string; readonly send: Sender }>
> = {
  Connect: { method: "SendStreamingMessage", send: ours("Connect") },
  gRPC: { method: "SendStreamingMessage", send: ours("gRPC") },
  "gRPC-Web": { method: "SendStreamingMessage", send: ours("gRPC-Web") },
  "A2A 1.0 over JSON-RPC": { method: "SendMessage", send: a2a10("JSON-RPC") },
  "A2A 1.0 over HTTP+JSON": { method: "SendMessage", send: a2a10("HTTP+JSON") },
  "A2A 1.0 over gRPC": { method: "SendMessage", send: a2a10("gRPC") },
  "A2A 0.3 over JSON-RPC": {
    method: "SendMessage",
    send: (server, sending, headers) =>
      post(server, headers, "/", {
        jsonrpc: "2.0",
        id: 1,
        method: "message/send",
        params: paramsOf(sending),
      }),
  },
  "A2A 0.3 over HTTP+JSON": {
    method: "SendStreamingMessage",
    send: (server, sending, headers) =>
      post(server, headers, "/v1/message:stream", restParamsOf(sending)),
  },
};

function ours(binding: "Connect" | "gRPC" | "gRPC-Web"): Sender {
  return async (server, { messageId, text, hook }, headers) => {
    const request = {
      message: textMessage(messageId, text),
      pushConfig: { id: "hook", url: hook },
    };
    const { tasks } = CLIENTS[binding](server);
    for await (const _ of tasks.streamMessage({ request }, { headers })) {
      // Until the exchange ends.
    }
  };
}

function a2a10(name: string): Sender {
  return async ({ url, token }, { messageId, text, hook }, headers) => {
    const authorization = `Bearer ${token}`;
    const binding = bindingsOf(url, { authorization, ...headers }).find(
      (each) => each.name === name,
    );
    const sent = await binding?.call("SendMessage", {
      message: { messageId, role: "ROLE_USER", parts: [{ text }] },
      configuration: { taskPushNotificationConfig: { id: "hook", url: hook } },
    });
    if (sent?.failure) throw new Error(JSON.stringify(sent.failure));
  };
}

function paramsOf({ messageId, text, hook }: Sending): JsonObject {
  return {
    message: {
      kind: "message",
      messageId,
      role: "user",
      parts: [{ kind: "text", text }],
    },
    configuration: { pushNotificationConfig: { id: "hook", url: hook } },
  };
}

function restParamsOf({ messageId, text, hook }: Sending): JsonObject {
  return {
    request: { messageId, role: "ROLE_USER", content: [{ text }] },
    configuration: { pushNotification: { id: "hook", url: hook } },
  };
}

async function post(
  { url, token }: Address,
  headers: Readonly<Record<string, string>>,
  path: string,
  body: JsonObject,
): Promise<void> {
  const response = await fetch(url + path, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      ...headers,
    },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
}
