import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttp2Server, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import { createServer, type Server, type Socket } from "node:net";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { TaskService } from "@devtool/schema";
import type { Replay } from "./replay.ts";
import { answerA2aV03, replayCard } from "./replay-a2a-v03.ts";
import { replayService } from "./replay-service.ts";

/** A server that plays one conversation, on loopback: Connect, gRPC and gRPC-Web, and A2A 0.3 over JSON-RPC. */
export interface ReplayServer extends AsyncDisposable {
  /** `http://127.0.0.1:port`. */
  readonly url: string;
}

type Request = IncomingMessage | Http2ServerRequest;
type Response = ServerResponse | Http2ServerResponse;

/** Starts one; who does not send the token as bearer is told so, and so is the replay. */
export async function startReplayServer(replay: Replay, token: string): Promise<ReplayServer> {
  const rpc = connectNodeAdapter({ routes: (router) => router.service(TaskService, replayService(replay)) });
  let url = "";
  const isLetIn = ({ headers }: Request, response: Response): boolean => {
    if (headers.authorization === `Bearer ${token}`) return true;
    replay.problems.push("the bearer token is missing or wrong");
    response.statusCode = 401;
    response.end();
    return false;
  };
  const http1 = createHttpServer((request, response) => {
    if (request.method === "GET") return void response.end(JSON.stringify(replayCard(url)));
    if (!isLetIn(request, response)) return;
    if (request.url !== "/") return rpc(request, response);
    answerA2aV03(request, response, replay).catch((reason: unknown) => replay.problems.push(String(reason)));
  });
  const http2 = createHttp2Server((request, response) => {
    if (isLetIn(request, response)) rpc(request, response);
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
