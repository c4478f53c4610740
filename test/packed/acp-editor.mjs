// A whole ACP client on the official SDK: node acp-editor.mjs KIND TEXT COMMAND… prints how the prompt ended and what was said.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { client, ndJsonStream } from "@agentclientprotocol/sdk";

const [kind, text, command, ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
let said = "";
const { agent } = client({ name: "editor" })
  .onNotification("session/update", ({ params: { update } }) => {
    if (update.sessionUpdate === "agent_message_chunk") {
      said += update.content.text;
    }
  })
  .onRequest("session/request_permission", ({ params }) => {
    const { optionId } = params.options.find((option) => option.kind === kind);
    return { outcome: { outcome: "selected", optionId } };
  })
  .connect(
    ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)),
  );
await agent.request("initialize", {
  protocolVersion: 1,
  clientCapabilities: {},
});
const { sessionId } = await agent.request("session/new", {
  cwd: process.cwd(),
  mcpServers: [],
});
const { stopReason } = await agent.request("session/prompt", {
  sessionId,
  prompt: [{ type: "text", text }],
});
child.stdin.end();
child.once("exit", () => console.log(stopReason, said));
