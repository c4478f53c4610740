import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { freePort } from "../free-port.ts";
import { startNginx } from "../outer/nginx.ts";

/**
 * The settings of nginx for servers that share a store: each request goes to
 * the next one, and one that is down is left out.
 */
function configOf(directory: string, ports: readonly number[]): string {
  const servers = ports.map(
    (each) => `server 127.0.0.1:${each} max_fails=1 fail_timeout=1s;`,
  );
  return `upstream fleet {
  ${servers.join("\n  ")}
}
server {
  listen unix:${socketOf(directory, "http1")};
  location / {
    proxy_pass http://fleet;
    proxy_http_version 1.1;
    proxy_set_header Host $http_host;
    proxy_set_header Connection "";
    proxy_buffering off;
    proxy_connect_timeout 1s;
    proxy_read_timeout 20s;
    proxy_next_upstream error timeout http_502 http_503 non_idempotent;
    # The servers have their own limit.
    client_max_body_size 0;
  }
}
server {
  listen unix:${socketOf(directory, "http2")} http2;
  location / {
    grpc_pass grpc://fleet;
    grpc_set_header Host $http_host;
    grpc_connect_timeout 1s;
    grpc_read_timeout 20s;
    grpc_next_upstream error timeout http_502 http_503 non_idempotent;
    client_max_body_size 0;
  }
}`;
}

function socketOf(directory: string, protocol: Protocol): string {
  return join(directory, `${protocol}.sock`);
}

type Protocol = "http1" | "http2";

/** A load balancer before several servers of this machine. */
export interface Balancer extends AsyncDisposable {
  readonly url: string;
}

/**
 * Runs nginx before servers, given by their ports: round robin, so that no
 * client stays with a server. gRPC has the same port.
 */
export async function startBalancer(
  root: string,
  ports: readonly number[],
  port: number,
): Promise<Balancer> {
  const directory = join(root, "balancer");
  const nginx = await startNginx(directory, configOf(directory, ports));
  const entrance = await openSorted(directory, port);
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      await entrance[Symbol.asyncDispose]();
      await nginx[Symbol.asyncDispose]();
    },
  };
}

/**
 * The first bytes of a connection with HTTP/2. Without TLS, older versions of
 * nginx take one version of HTTP at a port.
 */
const HTTP2_PREFACE = "PRI";

/**
 * Opens a port whose connections go to nginx byte for byte, to the socket of
 * their version of HTTP.
 */
async function openSorted(
  directory: string,
  port: number,
): Promise<AsyncDisposable> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    sockets.add(client.on("close", () => sockets.delete(client)));
    client.on("error", () => client.destroy());
    client.once("data", (first) => {
      client.pause();
      const isHttp2 = first.toString("latin1").startsWith(HTTP2_PREFACE);
      const inner = connect(socketOf(directory, isHttp2 ? "http2" : "http1"));
      client.on("close", () => inner.destroy());
      inner
        .on("error", () => client.destroy())
        .on("close", () => client.destroy());
      inner.write(first);
      client.pipe(inner).pipe(client);
    });
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** Free ports that differ from each other. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) ports.add(await freePort());
  return [...ports];
}
