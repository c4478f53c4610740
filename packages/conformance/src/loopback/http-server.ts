import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { Server, Socket } from "node:net";

/**
 * A request over HTTP/1.1 or HTTP/2.
 */
export type HttpRequest = IncomingMessage | Http2ServerRequest;

/**
 * The response to an `HttpRequest`.
 */
export type HttpResponse = ServerResponse | Http2ServerResponse;

/**
 * Reads the whole body of a request as text.
 */
export async function readBody(request: HttpRequest): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/**
 * Listens at `host:port` and returns the URL. The default is a free port of
 * loopback. Rejects if the port is taken.
 */
export async function listen(
  server: Server,
  hostAndPort = "127.0.0.1:0",
): Promise<string> {
  const { hostname, port } = new URL(`http://${hostAndPort}`);
  await new Promise<void>((resolve, reject) =>
    server.once("error", reject).listen(Number(port), hostname, resolve),
  );
  const address = server.address();
  return `http://${hostname}:${typeof address === "object" && address ? address.port : 0}`;
}

/**
 * Closes a server and destroys its open connections.
 */
export async function closeServer(
  server: Server,
  sockets: Iterable<Socket>,
): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  for (const socket of sockets) socket.destroy();
  await closed;
}
