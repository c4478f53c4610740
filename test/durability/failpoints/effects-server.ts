/**
 * An MCP server over stdio with one tool, `append`, that adds a token to
 * `effects.txt` in its working directory.
 */
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

const APPEND = {
  name: "append",
  description: "Adds a token to effects.txt.",
  inputSchema: {
    type: "object",
    properties: { token: { type: "string" } },
    required: ["token"],
  },
};

/** The result of a request; undefined for a method that it does not know. */
function answer(method: string, token: string): object | undefined {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: "2025-06-18",
        capabilities: { tools: {} },
        serverInfo: { name: "effects", version: "1" },
      };
    case "tools/list":
      return { tools: [APPEND] };
    case "tools/call":
      appendFileSync("effects.txt", `${token}\n`);
      return { content: [{ type: "text", text: "appended" }] };
    default:
      return undefined;
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const result = answer(method, params?.arguments?.token ?? "");
  const reply = result
    ? { result }
    : { error: { code: -32601, message: "method not found" } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...reply })}\n`);
}
