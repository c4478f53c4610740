/**
 * The same agent on the official SDK for JavaScript (A2A 0.3): plays `say`,
 * `text` and `read`, keeps tasks in memory.
 */
import { readFile } from "node:fs/promises";
import { DefaultRequestHandler, InMemoryTaskStore } from "@a2a-js/sdk/server";
import { A2AExpressApp } from "@a2a-js/sdk/server/express";
import express from "express";

const EXTENSION =
  "https://github.com/google-gemini/gemini-cli/blob/main/docs/a2a/developer-profile/v0/spec.md";
const now = () => new Date().toISOString();

const executor = {
  async execute({ userMessage, task, taskId, contextId }, bus) {
    const update = (state, kind, parts) =>
      bus.publish({
        kind: "status-update",
        taskId,
        contextId,
        status: {
          state,
          timestamp: now(),
          ...(parts && {
            message: {
              kind: "message",
              role: "agent",
              messageId: crypto.randomUUID(),
              parts,
              taskId,
              contextId,
            },
          }),
        },
        // The turn ends where it waits for the user.
        final: state === "input-required",
        metadata: { [EXTENSION]: { kind, model: "scripted" } },
      });
    if (!task) {
      bus.publish({
        kind: "task",
        id: taskId,
        contextId,
        status: { state: "submitted", timestamp: now() },
        history: [userMessage],
      });
    }
    update("working", "STATE_CHANGE");
    for (const line of userMessage.parts[0].text.split("\n")) {
      await play(line, update);
    }
    update("input-required", "STATE_CHANGE");
    bus.finished();
  },
  async cancelTask() {},
};

async function play(line, update) {
  const [verb, first = "", second = "x1"] = line.split(" ");
  if (verb === "say") {
    for (let index = 1; index <= Number(first); index++) {
      update("working", "TEXT_CONTENT", [
        { kind: "text", text: `chunk ${index} ` },
      ]);
    }
  }
  if (verb === "text") {
    update("working", "TEXT_CONTENT", [{ kind: "text", text: first }]);
  }
  if (verb === "read") {
    const calls = Array.from({ length: Number(second.slice(1)) }, () => ({
      tool_call_id: crypto.randomUUID(),
      tool_name: "read_file",
      input_parameters: { file_path: first },
    }));
    const send = (call) =>
      update("working", "TOOL_CALL_UPDATE", [{ kind: "data", data: call }]);
    for (const call of calls) send({ ...call, status: "PENDING" });
    await Promise.all(
      calls.map(async (call) => {
        send({ ...call, status: "EXECUTING" });
        const text = await readFile(first, "utf8").catch(String);
        send({ ...call, status: "SUCCEEDED", output: { text } });
      }),
    );
  }
}

const app = express();
const server = app.listen(0, "127.0.0.1", () => {
  const url = `http://127.0.0.1:${server.address().port}`;
  const card = {
    protocolVersion: "0.3.0",
    name: "bench",
    description: "bench",
    url: `${url}/`,
    version: "0.0.0",
    capabilities: { streaming: true },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [],
  };
  const handler = new DefaultRequestHandler(
    card,
    new InMemoryTaskStore(),
    executor,
  );
  new A2AExpressApp(handler).setupRoutes(app, "");
  process.stdout.write(`${JSON.stringify({ url, token: "" })}\n`);
});
process.on("SIGTERM", () => process.exit(0));
