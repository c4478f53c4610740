/**
 * Starts the server, kills it while the agent asks, starts it again, and
 * approves: `node client.ts`
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import {
  confirmationPart,
  createDevtoolClient,
  type DevtoolClient,
  pendingToolCalls,
  streamMessage,
  textMessage,
} from "@devtool/client";
import { createAgentTransport, fetchAgentCard } from "@devtool/client/a2a";
import { emptyTask, reduceTask, TaskState } from "@devtool/schema";

const signal = AbortSignal.timeout(60_000);
const token = crypto.randomUUID() + crypto.randomUUID();
const data = await mkdtemp(join(tmpdir(), "host-your-agent-"));

const first = await start();
const question = textMessage(crypto.randomUUID(), "Hello.");
let task = emptyTask();
for await (const event of streamMessage(
  first.client,
  { message: question },
  signal,
)) {
  task = reduceTask(task, event);
}
assert.equal(task.state, TaskState.INPUT_REQUIRED);
console.log("The agent asks. Killing the server.");
await kill(first.process);

const second = await start();
const parts = pendingToolCalls(task).map((call) =>
  confirmationPart(call, "proceed_once"),
);
const approval = {
  taskId: task.id,
  message: { messageId: crypto.randomUUID(), parts },
};
const texts: string[] = [];
for await (const event of streamMessage(second.client, approval, signal)) {
  task = reduceTask(task, event);
  if (event.payload.case === "text") texts.push(event.payload.value.text);
}
assert.equal(task.state, TaskState.COMPLETED);
// The agent began again from its top; what it had said before the kill is not
// said twice.
assert.deepEqual(texts, ["Published: 6 characters."]);
await kill(second.process);
await rm(data, { recursive: true });
console.log("ok");

/** Starts the server and connects to it. */
async function start(): Promise<{
  process: ChildProcess;
  client: DevtoolClient;
}> {
  const server = spawn(
    process.execPath,
    [join(import.meta.dirname, "server.ts"), data],
    {
      env: { ...process.env, DEVTOOL_TOKEN: token },
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  process.once("exit", () => server.kill("SIGKILL"));
  const [line] = await once(createInterface({ input: server.stdout }), "line");
  const url = String(line);
  const card = await fetchAgentCard({ url }, signal);
  return {
    process: server,
    client: createDevtoolClient(createAgentTransport(card, { url, token })),
  };
}

async function kill(server: ChildProcess): Promise<void> {
  const gone = once(server, "exit");
  server.kill("SIGKILL");
  await gone;
}
