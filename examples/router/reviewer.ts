/**
 * An agent on the official JavaScript SDK of A2A. Prints its URL, and ends with
 * its standard input.
 */
import { AgentCard, Message, Role, TaskState } from "@a2a-js/sdk";
import {
  AgentEvent,
  DefaultRequestHandler,
  InMemoryTaskStore,
} from "@a2a-js/sdk/server";
import {
  agentCardHandler,
  jsonRpcHandler,
  UserBuilder,
} from "@a2a-js/sdk/server/express";
import express from "express";

const app = express();
const server = app.listen(0, "127.0.0.1", () => {
  const address = server.address();
  const port = typeof address === "object" ? address?.port : 0;
  const url = `http://127.0.0.1:${port}`;
  const card = AgentCard.fromJSON({
    name: "reviewer",
    description: "Reviews texts.",
    version: "1.0.0",
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    supportedInterfaces: [
      { url, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
    ],
    capabilities: { streaming: true },
  });
  const requestHandler = new DefaultRequestHandler(
    card,
    new InMemoryTaskStore(),
    {
      async execute({ userMessage, taskId, contextId }, bus) {
        const content = userMessage.parts[0]?.content;
        const text = content?.$case === "text" ? content.value : "";
        const message = {
          ...Message.fromJSON({
            messageId: crypto.randomUUID(),
            parts: [{ text: `Reviewed: ${text}` }],
          }),
          role: Role.ROLE_AGENT,
        };
        const state = TaskState.TASK_STATE_COMPLETED;
        const status = { state, message, timestamp: new Date().toISOString() };
        const history = [userMessage];
        const task = { id: taskId, contextId, status, history, artifacts: [] };
        bus.publish(AgentEvent.task({ ...task, metadata: undefined }));
        bus.finished();
      },
      cancelTask: async () => undefined,
    },
  );
  const agentCardProvider = requestHandler;
  app.use(
    "/.well-known/agent-card.json",
    agentCardHandler({ agentCardProvider }),
  );
  const userBuilder = UserBuilder.noAuthentication;
  app.use(jsonRpcHandler({ requestHandler, userBuilder }));
  console.log(url);
});
process.stdin.resume().once("end", () => process.exit(0));
