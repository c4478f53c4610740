import {
  createServer as createHttpServer,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import {
  createServer as createHttp2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from "node:http2";
import { createServer, type Socket } from "node:net";
import type { JsonValue } from "@bufbuild/protobuf";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { TaskService } from "@devtool/schema";
import {
  closeServer,
  type HttpRequest,
  type HttpResponse,
  listen,
} from "../loopback/http-server.ts";
import type { Replay } from "./replay.ts";
import {
  type A2aInterface,
  answerA2aV1,
  replayCardV1,
} from "./replay-a2a-v1.ts";
import { answerA2aV03, replayCardV03 } from "./replay-a2a-v03.ts";
import { replayService } from "./replay-service.ts";

/**
 * A server on loopback that plays one recorded conversation.
 */
export interface ReplayServer extends AsyncDisposable {
  /**
   * `http://127.0.0.1:port`.
   */
  readonly url: string;
}

/**
 * Options of `startReplayServer`.
 */
export interface ReplayServerOptions {
  readonly replay: Replay;
  /**
   * The bearer token that the client must send. A request without it is refused
   * and recorded as a problem.
   */
  readonly token: string;
  /**
   * The interface that the client must use.
   *
   * Default: any of Connect, gRPC, gRPC-Web, and A2A 0.3 over JSON-RPC.
   */
  readonly over?: A2aInterface | undefined;
}

const CARD_PATH = "/.well-known/agent-card.json";

/**
 * Starts a server that takes HTTP/1.1 and HTTP/2 on one port.
 */
export async function startReplayServer({
  replay,
  token,
  over,
}: ReplayServerOptions): Promise<ReplayServer> {
  let url = "";
  const isAuthorized = (
    { headers }: HttpRequest,
    response: HttpResponse,
  ): boolean => {
    if (headers.authorization === `Bearer ${token}`) return true;
    replay.problems.push("the bearer token is missing or wrong");
    response.statusCode = 401;
    response.end();
    return false;
  };
  const handlers = createHandlers(replay, over);
  const http1 = createHttpServer((request, response) => {
    if (request.method === "GET" && request.url === CARD_PATH) {
      response.end(JSON.stringify(handlers.card(url)));
    } else if (isAuthorized(request, response)) {
      handlers.http1(request, response);
    }
  });
  const http2 = createHttp2Server((request, response) => {
    if (isAuthorized(request, response)) handlers.http2(request, response);
  });
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(
      socket
        .on("close", () => sockets.delete(socket))
        .on("error", () => undefined),
    );
    socket.once("readable", () => {
      const first: unknown = socket.read();
      if (!(first instanceof Buffer)) return void socket.destroy();
      socket.unshift(first);
      // Every HTTP/2 connection starts with this preface (RFC 9113, section
      // 3.4).
      (first.toString("latin1", 0, 3) === "PRI" ? http2 : http1).emit(
        "connection",
        socket,
      );
    });
  });
  url = await listen(server);
  return { url, [Symbol.asyncDispose]: () => closeServer(server, sockets) };
}

/**
 * How a conversation is served over each version of HTTP.
 */
interface Handlers {
  card(url: string): JsonValue;
  http1(request: IncomingMessage, response: ServerResponse): void;
  http2(request: Http2ServerRequest, response: Http2ServerResponse): void;
}

function createHandlers(
  replay: Replay,
  over: A2aInterface | undefined,
): Handlers {
  if (over) {
    const answer = (request: HttpRequest, response: HttpResponse): void =>
      void answerA2aV1(request, response, replay, over).catch(
        failWith(replay, response),
      );
    return {
      card: (url) => replayCardV1(url, over),
      http1: answer,
      http2: answer,
    };
  }
  const rpc = connectNodeAdapter({
    routes: (router) => router.service(TaskService, replayService(replay)),
  });
  return {
    card: replayCardV03,
    http1: (request, response) => {
      if (request.url !== "/") return rpc(request, response);
      answerA2aV03(request, response, replay).catch(failWith(replay, response));
    },
    http2: rpc,
  };
}

/**
 * Records an unreadable request as a problem and disconnects, so that the
 * client does not wait.
 */
function failWith(
  { problems }: Replay,
  response: HttpResponse,
): (reason: unknown) => void {
  return (reason) => {
    problems.push(String(reason));
    response.destroy();
  };
}
