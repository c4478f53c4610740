// An agent on the official SDK of ACP, as many agents in a terminal are.
import { Readable, Writable } from "node:stream";
import { agent, ndJsonStream } from "@agentclientprotocol/sdk";

agent({ name: "writer" })
  .onRequest("initialize", () => ({
    protocolVersion: 1,
    agentCapabilities: {},
  }))
  .onRequest("session/new", () => ({ sessionId: crypto.randomUUID() }))
  .onRequest("session/prompt", async ({ params, client }) => {
    const { sessionId, prompt } = params;
    const text = `Written: ${prompt[0].text}`;
    const content = { type: "text", text };
    const update = { sessionUpdate: "agent_message_chunk", content };
    await client.notify("session/update", { sessionId, update });
    return { stopReason: "end_turn" };
  })
  .connect(
    ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)),
  );
