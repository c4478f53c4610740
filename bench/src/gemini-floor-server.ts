/**
 * The lower bound for agents on the Gemini SDK: it asks the model through the
 * SDK, answers each call at once with the same words and writes the frames. It
 * runs no tool, keeps nothing on the disk and asks nobody.
 */
import { createServer } from "node:http";
import { type Content, GoogleGenAI, type Part } from "@google/genai";

const baseUrl = process.env.GOOGLE_GEMINI_BASE_URL ?? "";
const { models } = new GoogleGenAI({
  apiKey: "fake",
  vertexai: false,
  httpOptions: { baseUrl },
});
const tasks = new Map<string, Content[]>();
let lastTask = 0;

const frame = (taskId: string, text: string): string =>
  `data: {"jsonrpc":"2.0","id":1,"result":{"kind":"status-update","taskId":"${taskId}","contextId":"c","status":{"state":"working","message":{"kind":"message","messageId":"m","role":"agent","parts":[{"kind":"text","text":${JSON.stringify(text)}}]}},"final":false}}\n\n`;

/** Asks until an answer has no calls; gives the words as they come. */
async function* turn(contents: Content[]): AsyncIterable<string> {
  for (;;) {
    const said: Part[] = [];
    for await (const { candidates } of await models.generateContentStream({
      model: "gemini-2.5-pro",
      contents,
    })) {
      for (const part of candidates?.[0]?.content?.parts ?? []) {
        said.push(part);
        yield part.text ?? "";
      }
    }
    contents.push({ role: "model", parts: said });
    const calls = said.flatMap(({ functionCall }) =>
      functionCall ? [functionCall] : [],
    );
    if (calls.length === 0) return;
    const response = { output: "content\n" };
    const parts = calls.map(({ name = "", id = "" }) => ({
      functionResponse: { name, id, response },
    }));
    contents.push({ role: "user", parts });
  }
}

const server = createServer(async (request, response) => {
  if (request.method === "GET") return void response.end("{}");
  let body = "";
  for await (const chunk of request) body += chunk;
  const { message } = JSON.parse(body).params;
  const taskId = message.taskId ?? String(++lastTask);
  const contents = tasks.get(taskId) ?? [];
  tasks.set(taskId, contents);
  contents.push({ role: "user", parts: [{ text: message.parts[0].text }] });
  response.writeHead(200, { "content-type": "text/event-stream" });
  for await (const text of turn(contents)) {
    if (!response.write(frame(taskId, text))) {
      await new Promise((resolve) => response.once("drain", resolve));
    }
  }
  response.end();
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  const port = typeof address === "object" ? address?.port : 0;
  process.stdout.write(
    `${JSON.stringify({ url: `http://127.0.0.1:${port}`, token: "" })}\n`,
  );
});
process.on("SIGTERM", () => process.exit(0));
