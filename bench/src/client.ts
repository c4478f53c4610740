import { Agent, type OutgoingHttpHeaders, request } from "node:http";

const agent = new Agent({ keepAlive: true, maxSockets: 64 });

/** Ends the connections that are kept for further requests. */
export function closeConnections(): void {
  agent.destroy();
}

/** The URI of the extension. */
export const EXTENSION =
  "https://github.com/google-gemini/gemini-cli/blob/main/docs/a2a/developer-profile/v0/spec.md";
let nextId = 0;

/** A stream as its client saw it. */
export interface Seen {
  readonly events: number;
  readonly bytes: number;
  /**
   * From sending the request to the first event and to the end, in
   * milliseconds.
   */
  readonly firstMs: number;
  readonly totalMs: number;
  readonly text: string;
}

/** A message as parts, to a new task or to one that exists. */
export interface Send {
  readonly parts: readonly object[];
  readonly taskId?: string;
  readonly contextId?: string;
  readonly metadata?: object;
}

/** The URL of a server, and its bearer token. */
export interface Target {
  readonly url: string;
  readonly token: string;
}

const USER = { kind: "message", role: "user" };

/**
 * Sends a message and reads its stream to the end, counting events without
 * parsing them.
 */
export function stream(target: Target, send: Send): Promise<Seen> {
  return exchange(target, "message/stream", { ...USER, ...send });
}

/** Sends a message and waits for the one answer. */
export function send(target: Target, send: Send): Promise<Seen> {
  return exchange(target, "message/send", { ...USER, ...send });
}

/**
 * Streams a message over A2A 1.0, where one to a task that has ended begins a
 * task that goes on from it.
 */
export function stream1(
  target: Target,
  { parts, taskId, contextId }: Send,
): Promise<Seen> {
  const texts = parts.map((part) => ({
    text: "text" in part ? part.text : "",
  }));
  return exchange(target, "SendStreamingMessage", {
    role: "ROLE_USER",
    parts: texts,
    taskId,
    contextId,
  });
}

/**
 * Reads the whole log of a task at rest over A2A 0.3, counting events without
 * parsing them.
 */
export function catchUp(target: Target, taskId: string): Promise<Seen> {
  const params = { id: taskId };
  const body = { jsonrpc: "2.0", id: 1, method: "tasks/resubscribe", params };
  return post(target, JSON.stringify(body), { "last-event-id": "1" });
}

function exchange(target: Target, method: string, send: object): Promise<Seen> {
  const message = { messageId: `m${process.pid}-${nextId++}`, ...send };
  return post(
    target,
    JSON.stringify({ jsonrpc: "2.0", id: nextId, method, params: { message } }),
  );
}

function post(
  target: Target,
  body: string,
  further: OutgoingHttpHeaders = {},
): Promise<Seen> {
  const { url, token } = target;
  const start = performance.now();
  return new Promise((resolve, reject) => {
    const headers = {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      accept: "text/event-stream",
      authorization: `Bearer ${token}`,
      "x-a2a-extensions": EXTENSION,
      ...further,
    };
    const sent = request(
      url,
      { method: "POST", agent, headers },
      (response) => {
        let events = 0;
        let bytes = 0;
        let firstMs = 0;
        const kept: string[] = [];
        response.on("data", (chunk: Buffer) => {
          firstMs ||= performance.now() - start;
          bytes += chunk.length;
          for (
            let at = chunk.indexOf("data: {");
            at >= 0;
            at = chunk.indexOf("data: {", at + 7)
          ) {
            events++;
          }
          if (bytes < 1_000_000) kept.push(chunk.toString("latin1"));
        });
        response.on("end", () =>
          resolve({
            events,
            bytes,
            firstMs,
            totalMs: performance.now() - start,
            text: kept.join(""),
          }),
        );
        response.on("error", reject);
      },
    );
    sent.on("error", (reason) => {
      // The server closed the idle connection at the moment at which it was
      // used again. Clients then repeat the request.
      if (
        sent.reusedSocket &&
        "code" in reason &&
        reason.code === "ECONNRESET"
      ) {
        post(target, body, further).then(resolve, reject);
      } else {
        reject(reason);
      }
    });
    sent.end(body);
  });
}

/** The parts of a prompt. */
export function prompt(text: string): Send {
  return { parts: [{ kind: "text", text }] };
}

/** Returns the id of the task in a stream. */
export function taskIdOf({ text }: Seen): string {
  return /"taskId":"([^"]+)"/.exec(text)?.[1] ?? "";
}
