import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type DevtoolClient, textMessage } from "@devtool/client";
import { clientOf } from "../client-of.ts";
import {
  type ServerProcess,
  startServing,
} from "../durability/crash/server-process.ts";
import { type Receiver, receive } from "../push/receiver.ts";

const TOKEN_AGENT = fileURLToPath(new URL("token-agent.mjs", import.meta.url));

/** The token of the metrics. */
export const METRICS_TOKEN = "a-token-of-the-metrics-alone-0123456789";

/** More tasks than stay open. */
const MANY_TASKS = 270;
const AT_ONCE = 10;

/** A server that has something of everything that is measured. */
export interface LoadRun extends AsyncDisposable {
  readonly server: ServerProcess;
  readonly client: DevtoolClient;
  /** The task that asks. */
  readonly askingId: string;
  /** Gives it work of each kind once. */
  work(): Promise<void>;
}

/**
 * Starts a server with metrics, agents and prices, in a new directory. It sends
 * to a collector each second.
 */
export async function startLoadRun(
  root: string,
  collectorUrl: string,
): Promise<LoadRun> {
  const data = join(root, "data");
  mkdirSync(data, { mode: 0o700 });
  writeFileSync(join(data, "token"), METRICS_TOKEN, { mode: 0o600 });
  writeFileSync(
    join(data, "config.toml"),
    `[metrics]
token_file = "token"

[[budget.prices]]
model = "m-*"
input = 1.0
cached_input = 0.1
output = 10.0

[[agents]]
module = "devtool"

[[agents]]
name = "own"
module = "${TOKEN_AGENT}"

[telemetry]
endpoint = "${collectorUrl}"
`,
  );
  const workspace = join(root, "workspace");
  mkdirSync(workspace);
  writeFileSync(join(workspace, "b.txt"), "my secret");
  const receiver = await receive();
  const server = await startServing(
    [
      ...["--data", data, "--workspace", workspace],
      ...["--push-target", receiver.target, "--log-level", "error"],
    ],
    { ...process.env, OTEL_METRIC_EXPORT_INTERVAL: "1000" },
  );
  const client = clientOf(server.info);
  const asking = await send(client, "write a.txt secret");
  await holdThings(client, receiver);
  return {
    server,
    client,
    askingId: asking,
    work: () => workOnce(server, client),
    async [Symbol.asyncDispose]() {
      await server.kill();
      await receiver[Symbol.asyncDispose]();
    },
  };
}

async function send(
  client: DevtoolClient,
  text: string,
  more: object = {},
): Promise<string> {
  const message = textMessage(crypto.randomUUID(), text);
  const { task } = await client.tasks.sendMessage({ message, ...more });
  return task?.id ?? "";
}

/** Has a turn, a stream, a message and a webhook wait. */
async function holdThings(
  client: DevtoolClient,
  receiver: Receiver,
): Promise<void> {
  const now = { returnImmediately: true };
  const taskId = await send(client, "wait 600000", now);
  await send(client, "text Later.", { ...now, taskId });
  const stream = client.tasks.subscribeTask({ taskId });
  void Array.fromAsync(stream).catch(() => undefined);
  receiver.answerWith((response, { body }) => {
    if (body.includes("Held")) return;
    response.writeHead(body.includes("Refused") ? 500 : 204).end();
  });
  const pushConfig = { url: receiver.url };
  await send(client, "text Taken.", { pushConfig });
  await send(client, "text Held.", { pushConfig });
  await send(client, "text Refused.", { pushConfig });
}

async function workOnce(
  { info: { url } }: ServerProcess,
  client: DevtoolClient,
): Promise<void> {
  await send(client, "read secret.txt\nnext\nread b.txt");
  await send(client, "text My secret.");
  const taskId = await send(client, "write c.txt secret");
  await client.tasks.cancelTask({ taskId });
  const sessionSettings = { agent: "own" };
  await send(client, "steps", { sessionSettings });
  await send(client, "turn", { sessionSettings });
  await client.tasks.getTask({ taskId: "secret-task" }).catch(() => undefined);
  await fetch(`${url}/secret`, { method: "POST" });
  for (let begun = 0; begun < MANY_TASKS; begun += AT_ONCE) {
    const some = Array.from({ length: AT_ONCE }, () => send(client, "text x"));
    await Promise.all(some);
  }
}
