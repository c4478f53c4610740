/**
 * The lower bounds for agents on the Gemini SDK. It asks the model through the
 * SDK, answers each call at once and writes the frames: no tools, no disk,
 * nobody is asked. With a directory, it also does what a durable agent must:
 * it offers as many tools, reads the file of each call, and syncs every event
 * to the disk before it sends it.
 */
import { createServer } from "node:http";
import {
  type Content,
  type FunctionCall,
  type GenerateContentConfig,
  GoogleGenAI,
  type Part,
} from "@google/genai";
import type { FloorLog, FloorTask } from "./floor-log.ts";

/** A conversation with the model. */
interface Conversation extends FloorTask {
  readonly contents: Content[];
}

const [, , directory] = process.argv;
const baseUrl = process.env.GOOGLE_GEMINI_BASE_URL ?? "";
const { models } = new GoogleGenAI({
  apiKey: "fake",
  vertexai: false,
  httpOptions: { baseUrl },
});
const tasks = new Map<string, Conversation>();
let lastTask = 0;
const log = directory === undefined ? undefined : await openLog(directory);
const config = log ? configLikeOurs() : {};

async function openLog(directory: string): Promise<FloorLog> {
  const { FloorLog } = await import("./floor-log.ts");
  return new FloorLog(directory);
}

/** As many tools, and as many bytes of them and of instructions, as ours. */
function configLikeOurs(): GenerateContentConfig {
  const parametersJsonSchema = {
    type: "object",
    properties: {
      file_path: { type: "string", description: "x".repeat(100) },
      offset: { type: "integer", description: "x".repeat(60) },
      limit: { type: "integer", description: "x".repeat(60) },
    },
    required: ["file_path"],
  };
  const functionDeclarations = Array.from({ length: 14 }, (_, index) => ({
    name: `tool_${index}`,
    description: "x".repeat(120),
    parametersJsonSchema,
  }));
  return {
    systemInstruction: "x".repeat(1900),
    tools: [{ functionDeclarations }],
    thinkingConfig: { includeThoughts: true },
  };
}

const frame = (taskId: string, text: string): string =>
  `data: {"jsonrpc":"2.0","id":1,"result":{"kind":"status-update","taskId":"${taskId}","contextId":"c","status":{"state":"working","message":{"kind":"message","messageId":"m","role":"agent","parts":[{"kind":"text","text":${JSON.stringify(text)}}]}},"final":false}}\n\n`;

/** Asks until an answer has no calls; gives the frames as they come. */
async function* turn(
  conversation: Conversation,
  text: string,
): AsyncIterable<string> {
  const { id, contents } = conversation;
  contents.push({ role: "user", parts: [{ text }] });
  log?.message(conversation, text);
  for (;;) {
    const said: Part[] = [];
    for await (const { candidates } of await models.generateContentStream({
      model: "gemini-2.5-pro",
      contents,
      config,
    })) {
      for (const part of candidates?.[0]?.content?.parts ?? []) {
        said.push(part);
        if (!log) yield frame(id, part.text ?? "");
      }
    }
    contents.push({ role: "model", parts: said });
    const calls = said.flatMap(({ functionCall }) =>
      functionCall ? [functionCall] : [],
    );
    if (calls.length === 0) {
      const words = said.map((part) => part.text ?? "").join("");
      if (log) yield log.end(conversation, words);
      return;
    }
    const outputs = log
      ? yield* log.run(conversation, calls)
      : calls.map(() => "content\n");
    contents.push({ role: "user", parts: responses(calls, outputs) });
  }
}

function responses(
  calls: readonly FunctionCall[],
  outputs: readonly string[],
): Part[] {
  return calls.map(({ name = "", id = "" }, index) => ({
    functionResponse: { name, id, response: { output: outputs[index] } },
  }));
}

const server = createServer(async (request, response) => {
  if (request.method === "GET") return void response.end("{}");
  let body = "";
  for await (const chunk of request) body += chunk;
  const { message } = JSON.parse(body).params;
  const id = message.taskId ?? String(++lastTask);
  const conversation = tasks.get(id) ?? {
    id,
    contents: [],
    sequence: 0n,
    waiting: [],
  };
  tasks.set(id, conversation);
  response.writeHead(200, { "content-type": "text/event-stream" });
  for await (const frames of turn(conversation, message.parts[0].text)) {
    if (!response.write(frames)) {
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
