/**
 * Serves the program of agent.ts, kills the server while the program asks,
 * starts it again, and approves: what was asked runs once.
 *
 *     node main.ts
 */
import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  confirmationPart,
  createDevtoolClient,
  type DevtoolClient,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import { createAgentTransport, fetchAgentCard } from "@devtool/client/a2a";
import { emptyTask, TaskState } from "@devtool/schema";
import { createServer } from "@devtool/server";
import { agent } from "./agent.ts";

const [directory = "", token = ""] = process.argv.slice(2);
if (directory === "") {
  await killAndApprove();
} else {
  const { url } = await createServer({
    agents: { publisher: agent },
    dataDirectory: join(directory, "data"),
    workspace: join(directory, "work"),
    token,
  });
  process.send?.(url);
}

async function killAndApprove(): Promise<void> {
  const scratch = await mkdtemp(join(tmpdir(), "own-program-"));
  await mkdir(join(scratch, "work"));
  const bearer = crypto.randomUUID() + crypto.randomUUID();
  const first = await start(scratch, bearer);
  const { task = emptyTask() } = await first.client.tasks.sendMessage({
    message: textMessage(crypto.randomUUID(), "Hello"),
  });
  assert.equal(task.state, TaskState.INPUT_REQUIRED);
  console.log("The program asks. Killing the server.");
  await kill(first.server);

  const second = await start(scratch, bearer);
  const parts = pendingToolCalls(task).map((call) =>
    confirmationPart(call, "proceed_once"),
  );
  const { task: ended } = await second.client.tasks.sendMessage({
    message: { messageId: crypto.randomUUID(), parts },
    taskId: task.id,
  });
  assert.equal(ended?.state, TaskState.COMPLETED);
  const published = await readFile(join(scratch, "work/published.txt"), "utf8");
  assert.equal(published, "Hello\n");
  await kill(second.server);
  await rm(scratch, { recursive: true });
  console.log("ok");
}

async function start(
  scratch: string,
  token: string,
): Promise<{ server: ChildProcess; client: DevtoolClient }> {
  const server = fork(import.meta.filename, [scratch, token]);
  process.once("exit", () => server.kill("SIGKILL"));
  const [url] = await once(server, "message");
  const card = await fetchAgentCard({ url }, AbortSignal.timeout(10_000));
  return {
    server,
    client: createDevtoolClient(createAgentTransport(card, { url, token })),
  };
}

async function kill(server: ChildProcess): Promise<void> {
  const gone = once(server, "exit");
  server.kill("SIGKILL");
  await gone;
}
