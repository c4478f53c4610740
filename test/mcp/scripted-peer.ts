import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createSocket } from "node:net";
import { createInterface } from "node:readline";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { type McpServer, McpServerSchema } from "@devtool/schema";

/** What answers over HTTP in place of a message. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | readonly string[];
}

/** The same with the id of its request in place, in pieces. */
type WholeAnswer = HttpAnswer & { readonly body: readonly string[] };

/** A request of the client, and what its server does before it answers. */
export interface Asked {
  readonly method: string;
  readonly params: Record<string, unknown>;
  /** Sends a message as text. */
  send(text: string): void;
  /** Sends a request as text, and waits for the answer to its id. */
  ask(text: string, id: string): Promise<Record<string, unknown>>;
}

/**
 * Answers a request with the text of a message, with "@@ID@@" in place of
 * the request's id.
 */
export type Script = (
  asked: Asked,
) => string | HttpAnswer | Promise<string | HttpAnswer>;

/** How a peer is reached: over the older protocol too, with two streams. */
export type Transport = "stdio" | "http" | "sse";

/** A server in this process, which answers as its script says. */
export interface Peer extends AsyncDisposable {
  readonly server: McpServer;
  script: Script;
}

/** How a text reaches the client. */
type Send = (text: string) => void;

/** Joins the answers of a client to what it was asked. */
class Answers {
  readonly #waiting = new Map<
    string,
    (message: Record<string, unknown>) => void
  >();

  take(message: Record<string, unknown>): void {
    this.#waiting.get(String(message.id))?.(message);
  }

  wait(id: string): Promise<Record<string, unknown>> {
    return new Promise((resolve) => this.#waiting.set(id, resolve));
  }
}

/** Starts a peer. Its script answers nothing until it is set. */
export async function startPeer(transport: Transport): Promise<Peer> {
  const answers = new Answers();
  let script: Script = () => "";
  async function handle(
    message: Record<string, unknown>,
    send: Send,
  ): Promise<string | WholeAnswer> {
    const { id, method, params = {} } = message;
    if (typeof method !== "string") answers.take(message);
    if (typeof method !== "string" || id === undefined) return "";
    const withId = (text: string): string =>
      text.replaceAll('"@@ID@@"', JSON.stringify(id));
    const answer = await script({
      method,
      params: Object(params),
      send: (text) => send(withId(text)),
      ask: (text, own) => {
        const answered = answers.wait(own);
        send(text);
        return answered;
      },
    });
    return typeof answer === "string"
      ? withId(answer)
      : { ...answer, body: [answer.body].flat().map(withId) };
  }
  const served =
    transport === "stdio" ? await serveLines(handle) : await serveHttp(handle);
  const { port, close } = served;
  return {
    server: create(McpServerSchema, {
      name: "odd",
      callTimeout: durationFromMs(30_000),
      transport: reach(transport, port),
    }),
    get script() {
      return script;
    },
    set script(next) {
      script = next;
    },
    [Symbol.asyncDispose]: async () => close(),
  };
}

function reach(
  transport: Transport,
  port: number,
): NonNullable<MessageInitShape<typeof McpServerSchema>["transport"]> {
  const url = `http://127.0.0.1:${port}/${transport}`;
  switch (transport) {
    case "stdio": {
      // A process that only passes on starts in no time.
      const relay = `exec 3<>/dev/tcp/127.0.0.1/${port}; cat <&3 & exec cat >&3`;
      const value = { command: "/bin/bash", args: ["--norc", "-c", relay] };
      return { case: "stdio", value };
    }
    case "http":
    case "sse":
      return { case: transport, value: { url } };
    default:
      return transport satisfies never;
  }
}

type Handle = (
  message: Record<string, unknown>,
  send: Send,
) => Promise<string | WholeAnswer>;

interface Served {
  readonly port: number;
  close(): void;
}

async function serveLines(handle: Handle): Promise<Served> {
  const server = createSocket((socket) => {
    const send: Send = (text) => socket.write(`${text}\n`);
    socket.on("error", () => socket.destroy());
    createInterface({ input: socket }).on("line", (line) => {
      void handle(JSON.parse(line), send).then((answer) => {
        if (typeof answer === "string" && answer !== "") send(answer);
      });
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  return { port, close: () => server.close() };
}

const EVENTS = { "content-type": "text/event-stream" };
const asEvent = (text: string): string =>
  `${text
    .split("\n")
    .map((line) => `data: ${line}`)
    .join("\n")}\n\n`;

async function serveHttp(handle: Handle): Promise<Served> {
  /** The streams of the older protocol, by their numbers. */
  const streams: ServerResponse[] = [];
  let requests = 0;
  const server = createServer((request, response) => {
    if (request.method === "GET" && request.url === "/sse") {
      response.writeHead(200, EVENTS);
      response.write(`event: endpoint\ndata: /post?${streams.length}\n\n`);
      streams.push(response);
      return;
    }
    if (request.method !== "POST") {
      response.writeHead(405).end();
      return;
    }
    let text = "";
    request.setEncoding("utf8");
    request.on("data", (chunk) => {
      text += chunk;
    });
    request.on("end", () => {
      const stream = streams[Number(/\?(\d+)$/.exec(request.url ?? "")?.[1])];
      const message = JSON.parse(text);
      if (stream) {
        const send: Send = (each) => stream.write(asEvent(each));
        response.writeHead(202).end("Accepted");
        void handle(message, send).then((answer) => {
          if (typeof answer !== "string") stream.write(answer.body.join(""));
          else if (answer !== "") send(answer);
        });
        return;
      }
      void reply(message, response, requests++ % 2 === 0);
    });
  });

  /** Answers in JSON or as events, and as events what comes before. */
  async function reply(
    message: Record<string, unknown>,
    response: ServerResponse,
    asJson: boolean,
  ): Promise<void> {
    const session: Record<string, string> =
      message.method === "initialize" ? { "mcp-session-id": "S1" } : {};
    const answer = await handle(message, (text) => {
      if (!response.headersSent) response.writeHead(200, EVENTS);
      response.write(asEvent(text));
    });
    if (typeof answer !== "string") {
      response.writeHead(answer.status, { ...session, ...answer.headers });
      for (const piece of answer.body) response.write(piece);
      response.end();
    } else if (answer === "") {
      response.writeHead(202).end();
    } else if (response.headersSent) {
      response.end(asEvent(answer));
    } else if (asJson) {
      response.writeHead(200, {
        ...session,
        "content-type": "application/json",
      });
      response.end(answer);
    } else {
      response.writeHead(200, { ...session, ...EVENTS });
      response.end(asEvent(answer));
    }
  }
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { port, close };
}
