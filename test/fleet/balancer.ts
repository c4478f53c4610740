import { join } from "node:path";
import { freePort } from "../free-port.ts";
import { startNginx } from "../outer/nginx.ts";

/** The settings of nginx for servers that share a store: each request goes to the next one, and one that is down is left out. */
function configOf(port: number, ports: readonly number[]): string {
  const servers = ports.map((each) => `server 127.0.0.1:${each} max_fails=1 fail_timeout=1s;`);
  return `upstream fleet {
  ${servers.join("\n  ")}
}
server {
  listen 127.0.0.1:${port};
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
}`;
}

/** A load balancer before several servers of this machine. */
export interface Balancer extends AsyncDisposable {
  readonly url: string;
}

/** Runs nginx before servers, given by their ports: round robin, so that no client stays with a server. */
export async function startBalancer(directory: string, ports: readonly number[], port: number): Promise<Balancer> {
  const nginx = await startNginx(join(directory, "balancer"), configOf(port, ports));
  return { url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: () => nginx[Symbol.asyncDispose]() };
}

/** Free ports that differ from each other. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) ports.add(await freePort());
  return [...ports];
}
