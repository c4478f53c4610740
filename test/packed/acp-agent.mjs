// A whole ACP agent on the official SDK: it asks whether it may write its prompt into a file.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { agent, ndJsonStream } from "@agentclientprotocol/sdk";

const directories = new Map();
const options = [
  { optionId: "yes", name: "Yes", kind: "allow_once" },
  { optionId: "no", name: "No", kind: "reject_once" },
];

agent({ name: "scribe" })
  .onRequest("initialize", () => ({
    protocolVersion: 1,
    agentCapabilities: {},
  }))
  .onRequest("session/new", ({ params }) => {
    const sessionId = crypto.randomUUID();
    directories.set(sessionId, params.cwd);
    return { sessionId };
  })
  .onRequest(
    "session/prompt",
    async ({ params: { sessionId, prompt }, client }) => {
      const show = (update) =>
        client.notify("session/update", { sessionId, update });
      const call = {
        toolCallId: crypto.randomUUID(),
        title: "Write said.txt",
        kind: "edit",
      };
      const { outcome } = await client.request("session/request_permission", {
        sessionId,
        toolCall: call,
        options,
      });
      const isAllowed =
        outcome.outcome === "selected" && outcome.optionId === "yes";
      if (isAllowed) {
        writeFileSync(
          join(directories.get(sessionId), "said.txt"),
          prompt[0].text,
        );
      }
      const status = isAllowed ? "completed" : "failed";
      await show({
        sessionUpdate: "tool_call_update",
        toolCallId: call.toolCallId,
        status,
      });
      await show({
        sessionUpdate: "agent_message_chunk",
        content: {
          type: "text",
          text: isAllowed ? "Written." : "Not written.",
        },
      });
      return { stopReason: "end_turn" };
    },
  )
  .connect(
    ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)),
  );
