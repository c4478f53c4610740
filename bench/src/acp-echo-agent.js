/** An agent over ACP without latency, as short as the protocol lets it be: it answers each prompt with its own text. */
import { createInterface } from "node:readline";

const write = (message) =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
let sessions = 0;

const METHODS = {
  initialize: () => ({
    protocolVersion: 1,
    agentCapabilities: { loadSession: false },
  }),
  "session/new": () => ({ sessionId: `session-${++sessions}` }),
  "session/prompt"({ sessionId, prompt }) {
    const [content] = prompt;
    write({
      method: "session/update",
      params: {
        sessionId,
        update: { sessionUpdate: "agent_message_chunk", content },
      },
    });
    return { stopReason: "end_turn" };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const run = METHODS[method];
  write(
    run
      ? { id, result: run(params) }
      : { id, error: { code: -32601, message: `unknown method ${method}` } },
  );
}
