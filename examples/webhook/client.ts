/**
 * Sends a message, hangs up, and receives the events of the task at a webhook.
 *
 *     devtool serve --push-target 127.0.0.1:8088      # in another terminal
 *     DEVTOOL_URL=http://127.0.0.1:41242 DEVTOOL_TOKEN=… node client.ts 8088
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { buffer } from "node:stream/consumers";
import { createDevtoolClient, textMessage } from "@devtool/client";
import { createAgentTransport, fetchAgentCard } from "@devtool/client/a2a";
import {
  NotificationError,
  notificationEvent,
  notificationKeys,
  SeenEvents,
  verifyNotification,
} from "@devtool/client/webhook";
import { emptyTask, isTerminal, reduceTask, TaskState } from "@devtool/schema";

const {
  DEVTOOL_URL: url = "http://127.0.0.1:41242",
  DEVTOOL_TOKEN: token = "",
} = process.env;
const [port = "8088"] = process.argv.slice(2);
const signal = AbortSignal.timeout(60_000);

const keys = notificationKeys(new URL("/.well-known/jwks.json", url));
const seen = new SeenEvents();
let task = emptyTask();
const ended = Promise.withResolvers<void>();

const receiver = createServer(async (request, response) => {
  const status = await receive(request).catch((reason: unknown) => {
    if (reason instanceof NotificationError) return 401;
    // Anything but a 2xx makes the server try again later.
    console.error(reason);
    return 500;
  });
  response.writeHead(status).end();
});
receiver.listen(Number(port), "127.0.0.1");
await once(receiver, "listening");
// Port 0 lets the system choose one.
const audience = `http://127.0.0.1:${Object(receiver.address()).port}/hook`;

// A post that the server has not signed is refused.
assert.equal(
  (await fetch(audience, { method: "POST", body: "{}" })).status,
  401,
);

const card = await fetchAgentCard({ url }, signal);
const client = createDevtoolClient(createAgentTransport(card, { url, token }));
await client.tasks.sendMessage(
  {
    message: textMessage(crypto.randomUUID(), "think\nsay 3\ntext Done."),
    pushConfig: { url: audience },
    returnImmediately: true,
  },
  { signal },
);

await Promise.race([
  ended.promise,
  once(signal, "abort").then(() => assert.fail("the task did not end")),
]);
receiver.close();
assert.equal(task.state, TaskState.COMPLETED);
console.log(`ok: ${task.sequence} events`);

/**
 * Verifies one post and folds its event into the task. Returns the HTTP status
 * of the response.
 */
async function receive(request: IncomingMessage): Promise<number> {
  const notification = await verifyNotification(
    { headers: request.headers, body: await buffer(request) },
    { keys, audience, now: Date.now, seen },
  );
  const event = notificationEvent(notification);
  if (event !== undefined && !notification.isDuplicate) {
    task = reduceTask(task, event);
    console.log(event.sequence, event.payload.case);
    if (isTerminal(task.state)) ended.resolve();
  }
  return 204;
}
