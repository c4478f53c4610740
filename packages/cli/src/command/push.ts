import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import {
  NotificationError,
  notificationEvent,
  notificationKeys,
  SeenEvents,
  verifyNotification,
} from "@devtool/client/webhook";
import { oneLine } from "@devtool/internal/visible-text";
import { PushFormat } from "@devtool/schema";
import {
  type ConnectionOptions,
  connect,
  findServer,
} from "../connection/connection.ts";
import { pinnedFetch } from "../connection/pinned-tls.ts";
import { errorCode, errorMessage } from "../errors.ts";
import { ExitCode } from "../exit-code.ts";
import { type Io, interruptSignal, writeLine } from "../io.ts";
import { parsePort } from "../listen-options.ts";
import { writeJsonText } from "../render/json-line.ts";
import { createPrinter } from "../session.ts";
import { findTaskId } from "../task-id.ts";

/** Maximum size of a notification in bytes. */
const MAX_BODY_BYTES = 16 * 1024 * 1024;

/** The options of `devtool push listen`. */
interface PushListenOptions extends ConnectionOptions {
  readonly port: string;
  readonly task?: string;
  readonly json?: true;
}

/**
 * `devtool push listen`: receives notifications on a loopback port and prints
 * those that the server signed for it.
 *
 * With `--task`, subscribes to that task's events while it listens.
 */
export async function pushListen(
  options: PushListenOptions,
  io: Io,
): Promise<number> {
  using interrupt = interruptSignal(io);
  const server = createServer();
  const url = await listenOnLoopback(server, parsePort(options.port));
  const keys = await fetchKeys(options, io, interrupt.signal);
  const print = createPrinter(options, io);
  const seen = new SeenEvents();
  const receive = async (request: IncomingMessage): Promise<void> => {
    const notification = await verifyNotification(
      { headers: request.headers, body: await readBody(request) },
      { keys, audience: url, now: Date.now, seen },
    );
    const event = notificationEvent(notification);
    if (notification.isDuplicate) return;
    if (event) {
      print(event);
    } else {
      writeJsonText(io.stdout, notification.body);
    }
  };
  server.on("request", async (request, response) => {
    let status = request.method === "POST" ? 204 : 405;
    try {
      if (status === 204) await receive(request);
    } catch (reason) {
      writeLine(io.stderr, `devtool: ${oneLine(errorMessage(reason))}`);
      status = reason instanceof NotificationError ? 401 : 500;
    }
    response.writeHead(status).end();
  });
  writeLine(io.stderr, `listening at ${url}`);
  const unsubscribe = await subscribe(options, url, io, interrupt.signal);
  await once(interrupt.signal, "abort");
  await unsubscribe();
  server.closeAllConnections();
  server.close();
  return ExitCode.OK;
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) {
      throw new NotificationError(
        `the body is too large: limit is ${MAX_BODY_BYTES} bytes`,
      );
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * Asks the server to post a task's events here. Returns a function that ends
 * this.
 */
async function subscribe(
  options: PushListenOptions,
  url: string,
  io: Io,
  signal: AbortSignal,
): Promise<() => Promise<void>> {
  if (options.task === undefined) return async () => {};
  const client = await connect(options, io, signal);
  const taskId = await findTaskId(client, options.task, signal);
  const { config } = await client.push.setPushConfig(
    { config: { taskId, url, format: PushFormat.TASK_EVENT } },
    { signal },
  );
  const configId = config?.id ?? "";
  return async () =>
    void (await client.push
      .deletePushConfig({ taskId, configId })
      .catch(() => undefined));
}

/** Returns the keys that the server publishes for its signatures. */
async function fetchKeys(
  options: PushListenOptions,
  io: Io,
  signal: AbortSignal,
): Promise<ReturnType<typeof notificationKeys>> {
  const address = await findServer(options, io, signal);
  if (!address) {
    throw new Error(
      'no server is running: start one with "devtool serve", or name one with --url',
    );
  }
  const { url, certificate } = address;
  const trust =
    certificate === undefined ? {} : { fetch: await pinnedFetch(certificate) };
  return notificationKeys(new URL("/.well-known/jwks.json", url), trust);
}

/** Starts listening and returns the URL. Port 0 takes a free one. */
async function listenOnLoopback(server: Server, port: number): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject).listen(port, "127.0.0.1", resolve);
  await promise.catch((reason: unknown) => {
    if (errorCode(reason) !== "EADDRINUSE") throw reason;
    throw new Error(
      `port ${port} of 127.0.0.1 is in use: choose another with --port, or 0 for a free one`,
      { cause: reason },
    );
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" && address ? address.port : port}/`;
}
