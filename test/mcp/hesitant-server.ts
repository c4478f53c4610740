import { createInterface } from "node:readline";

/**
 * An MCP server of the revision of 2025-06-18 whose questions nobody needs to
 * answer any longer: `regret` withdraws its question, and `forget` ends its
 * call before the answer.
 */
const TOOLS = ["regret", "forget"].map((name) => ({
  name,
  description: name,
  inputSchema: { type: "object" },
}));

interface Received {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: { readonly name?: string };
}

const send = (message: object): void => {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
};

function call(id: number | string | undefined, name: string | undefined): void {
  const requestId = `of ${id}`;
  const requestedSchema = { type: "object", properties: {} };
  const params = { message: "Who are you?", requestedSchema };
  send({ id: requestId, method: "elicitation/create", params });
  const cancelled = "notifications/cancelled";
  if (name === "regret") send({ method: cancelled, params: { requestId } });
  send({ id, result: { content: [{ type: "text", text: "done" }] } });
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params }: Received = JSON.parse(line);
  switch (method) {
    case "initialize":
      send({
        id,
        result: {
          protocolVersion: "2025-06-18",
          capabilities: { tools: {} },
          serverInfo: { name: "hesitant", version: "1" },
        },
      });
      break;
    case "tools/list":
      send({ id, result: { tools: TOOLS } });
      break;
    case "tools/call":
      call(id, params?.name);
      break;
    case undefined:
      break;
    default:
      // The client finds out which revisions the server speaks.
      if (id !== undefined) {
        send({ id, error: { code: -32601, message: "unknown method" } });
      }
  }
}
