// An MCP server without an SDK, which answers each method as its argument says:
// JSON with the text to begin with, and for each method an answer, or a list of
// answers of which the last is repeated. `{ "raw": "…" }` is a line as it is,
// with ID in place of the id. With `answered`, what the client answers is the
// result of its last request.
import { createInterface } from "node:readline";

const { answers = {}, first = "" } = JSON.parse(process.argv[2] ?? "{}");
if (first !== "") process.stdout.write(first);
const played = new Map<string, number>();
const defaults: Record<string, unknown> = {
  initialize: {
    result: {
      protocolVersion: "2025-06-18",
      capabilities: { tools: {}, prompts: {}, resources: {} },
      serverInfo: { name: "odd", version: "1" },
    },
  },
  "tools/list": { result: { tools: [] } },
  "prompts/list": { result: { prompts: [] } },
  "resources/list": { result: { resources: [] } },
  ping: { result: {} },
};

let lastId: unknown;
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === undefined && answers.answered && lastId !== undefined) {
    // What the client answers is the result of its own last request.
    const result = { content: line };
    process.stdout.write(`${JSON.stringify({ id: lastId, result })}\n`);
  }
  lastId = method === undefined ? lastId : id;
  if (id === undefined || method === undefined) return;
  const list = [answers[method] ?? defaults[method]].flat();
  const at = played.get(method) ?? 0;
  played.set(method, at + 1);
  const answer = list[Math.min(at, list.length - 1)] ?? {
    error: { code: -32601, message: "no such method" },
  };
  const echo = { content: [{ type: "text", text: JSON.stringify(params) }] };
  const text = answer.raw
    ? answer.raw.replaceAll("ID", JSON.stringify(id))
    : JSON.stringify({
        jsonrpc: "2.0",
        id,
        ...(answer === "echo" ? { result: echo } : answer),
      });
  process.stdout.write(`${text}\n`);
});
