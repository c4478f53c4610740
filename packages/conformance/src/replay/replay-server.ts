import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttp2Server, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import { createServer, type Server, type Socket } from "node:net";
import type { JsonValue } from "@bufbuild/protobuf";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { TaskService } from "@devtool/schema";
import type { HttpRequest, HttpResponse } from "./http.ts";
import type { Replay } from "./replay.ts";
import { type A2aInterface, type A2aPlay, answerA2aV1, replayCardV1 } from "./replay-a2a-v1.ts";
import { answerA2aV03, replayCard } from "./replay-a2a-v03.ts";
import { replayService } from "./replay-service.ts";

/** A server that plays one conversation, on loopback. */
export interface ReplayServer extends AsyncDisposable {
  /** `http://127.0.0.1:port`. */
  readonly url: string;
}

/** What a server plays. */
export interface ReplayServerOptions {
  readonly replay: Replay;
  /** Who does not send it as bearer is told so, and so is the replay. */
  readonly token: string;
  /** The binding that the client must use. Default: any of Connect, gRPC, gRPC-Web and A2A 0.3 over JSON-RPC. */
  readonly over?: A2aInterface | undefined;
}

/** Starts one. */
export async function startReplayServer({ replay, token, over }: ReplayServerOptions): Promise<ReplayServer> {
  let url = "";
  const isLetIn = ({ headers }: HttpRequest, response: HttpResponse): boolean => {
    if (headers.authorization === `Bearer ${token}`) return true;
    replay.problems.push("the bearer token is missing or wrong");
    response.statusCode = 401;
    response.end();
    return false;
  };
  const played = over ? a2aV1({ replay, over }) : anyProtocol(replay);
  const http1 = createHttpServer((request, response) => {
    if (request.method === "GET" && request.url === CARD) return void response.end(JSON.stringify(played.card(url)));
    if (isLetIn(request, response)) played.http1(request, response);
  });
  const http2 = createHttp2Server((request, response) => {
    if (isLetIn(request, response)) played.http2(request, response);
  });
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket.on("close", () => sockets.delete(socket)).on("error", () => undefined));
    socket.once("readable", () => {
      const first: unknown = socket.read();
      if (!(first instanceof Buffer)) return void socket.destroy();
      socket.unshift(first);
      // Every connection of HTTP/2 begins with these (RFC 9113, section 3.4).
      (first.toString("latin1", 0, 3) === "PRI" ? http2 : http1).emit("connection", socket);
    });
  });
  url = await listen(server);
  return { url, [Symbol.asyncDispose]: () => close(server, sockets) };
}

const CARD = "/.well-known/agent-card.json";

/** How a conversation is played over each version of HTTP. */
interface Protocols {
  card(url: string): JsonValue;
  http1(request: IncomingMessage, response: ServerResponse): void;
  http2(request: Http2ServerRequest, response: Http2ServerResponse): void;
}

function anyProtocol(replay: Replay): Protocols {
  const rpc = connectNodeAdapter({ routes: (router) => router.service(TaskService, replayService(replay)) });
  return {
    card: replayCard,
    http1: (request, response) => {
      if (request.url !== "/") return rpc(request, response);
      answerA2aV03(request, response, replay).catch(noting(replay, response));
    },
    http2: rpc,
  };
}

function a2aV1(play: A2aPlay): Protocols {
  const answer = (request: HttpRequest, response: HttpResponse): void =>
    void answerA2aV1(request, response, play).catch(noting(play.replay, response));
  return { card: (url) => replayCardV1(url, play.over), http1: answer, http2: answer };
}

/** Notes what cannot be read, and lets the client wait for nothing. */
function noting({ problems }: Replay, response: HttpResponse): (reason: unknown) => void {
  return (reason) => {
    problems.push(String(reason));
    response.destroy();
  };
}

/** Listens on a free port of loopback; gives the URL. */
export function listen(server: Server): Promise<string> {
  return listenAt(server, "127.0.0.1:0");
}

/** Listens at `host:port`; gives the URL. Rejects when the port is taken. */
export async function listenAt(server: Server, at: string): Promise<string> {
  const { hostname, port } = new URL(`http://${at}`);
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(Number(port), hostname, resolve));
  const address = server.address();
  return `http://${hostname}:${typeof address === "object" && address ? address.port : 0}`;
}

/** Ends a server and its connections. */
export async function close(server: Server, sockets: Iterable<Socket>): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  for (const socket of sockets) socket.destroy();
  await closed;
}
