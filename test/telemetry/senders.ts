import { spawn } from "node:child_process";
import { once } from "node:events";
import type { JsonObject } from "@bufbuild/protobuf";
import { textMessage } from "@devtool/client";
import { objectOrEmpty } from "@devtool/internal/json";
import { Editor } from "../acp/port/editor.ts";
import { bareRun, postRun } from "../ag-ui/post-run.ts";
import { type Address, type Binding, CLIENTS } from "../client-of.ts";
import { bindingsOf } from "../conformance/tck/bindings.ts";
import { MAIN } from "../our-command.ts";
import { postJson } from "../post-json.ts";

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
  Record<
    string,
    {
      readonly method: string;
      readonly send: Sender;
      /** The state that its request ends with. Default: completed. */
      readonly state?: string;
      /** Whether the protocol has no webhooks. */
      readonly hasNoHook?: boolean;
    }
  >
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
  "Gemini CLI's dialect": {
    method: "SendStreamingMessage",
    send: (server, sending, headers) =>
      post(server, headers, "/", geminiCliCall(sending)),
  },
  "AG-UI": {
    method: "SendMessage",
    send: async (server, { messageId, text }, headers) => {
      const content = { id: messageId, role: "user", content: text };
      const run = { ...bareRun(crypto.randomUUID()), messages: [content] };
      const { status, body } = await postRun(server, run, headers);
      if (status !== 200) throw new Error(body);
    },
    // The run is read from the log, once the message is sent.
    state: "TASK_STATE_WORKING",
    hasNoHook: true,
  },
  ACP: {
    method: "SendStreamingMessage",
    send: sendOverAcp,
    hasNoHook: true,
  },
  ...ourA2a("A2A 1.0 over JSON-RPC"),
  ...ourA2a("A2A 1.0 over HTTP+JSON"),
  ...ourA2a("A2A 1.0 over gRPC"),
  ...ourA2a("A2A 0.3 over JSON-RPC"),
  ...ourA2a("A2A 0.3 over HTTP+JSON"),
  "A2A 0.3 over HTTP+JSON": {
    method: "SendStreamingMessage",
    send: (server, sending, headers) =>
      post(server, headers, "/v1/message:stream", restParamsOf(sending)),
  },
};

function ours(binding: Binding): Sender {
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

function ourA2a(binding: Binding): typeof SENDERS {
  const method = "SendStreamingMessage";
  return { [`${binding} by our client`]: { method, send: ours(binding) } };
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

/** What Gemini CLI's own client sends. */
function geminiCliCall(sending: Sending): JsonObject {
  const { message, configuration } = paramsOf(sending);
  const coderAgent = { kind: "agent-settings", workspacePath: "" };
  return {
    jsonrpc: "2.0",
    id: 1,
    method: "message/stream",
    params: {
      message: { ...objectOrEmpty(message), metadata: { coderAgent } },
      ...(configuration && { configuration }),
    },
  };
}

/** Sends a prompt as an editor does, through `devtool acp`. */
async function sendOverAcp(
  { url, token }: Address,
  { text }: Sending,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  const child = spawn(
    process.execPath,
    [MAIN, "acp", "--url", url, "--token", token, "--protocol", "connect"],
    { stdio: ["pipe", "pipe", "inherit"] },
  );
  try {
    await using editor = new Editor(child.stdin, child.stdout);
    const sessionId = await editor.open(process.cwd());
    await editor.agent.request("session/prompt", {
      sessionId,
      prompt: [{ type: "text", text }],
      _meta: { ...headers },
    });
  } finally {
    child.kill();
    await once(child, "exit");
  }
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
  const response = await postJson({ url, token }, path, body, headers);
  const text = await response.text();
  if (!response.ok) throw new Error(text);
}
