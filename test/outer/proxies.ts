import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { putFile } from "@devtool/internal/testing/files";
import { startNginx, WITHOUT_NGINX } from "./nginx.ts";

/** A reverse proxy of the system, with its configurations in the docs. */
export interface ReverseProxy {
  readonly name: "nginx" | "caddy" | "haproxy";
  /**
   * Appended to the name of a test that needs it: why it is skipped. Empty
   * where it is installed.
   */
  readonly missing: string;
  /** The address that listens at a socket in the file system. */
  readonly address: (socket: string) => string;
  /**
   * Runs it in the foreground with a configuration, all its files in a
   * directory, until it listens at `socket`.
   */
  readonly start: (
    directory: string,
    config: string,
    socket: string,
  ) => Promise<AsyncDisposable>;
}

const CADDY = ["/usr/bin/caddy", "/usr/local/bin/caddy"].find(existsSync);
const HAPROXY = ["/usr/sbin/haproxy", "/usr/local/sbin/haproxy"].find(
  existsSync,
);

/** The proxies whose configurations docs/deployment.md shows. */
export const PROXIES: readonly ReverseProxy[] = [
  {
    name: "nginx",
    missing: WITHOUT_NGINX,
    address: (socket) => `unix:${socket}`,
    start: startNginx,
  },
  {
    name: "caddy",
    missing: skipOf("caddy", CADDY),
    address: (socket) => `unix/${socket}`,
    async start(directory, config, socket) {
      const global = `{
  admin off
  auto_https off
  servers {
    protocols h1 h2
  }
}
`;
      await mkdir(directory, { recursive: true });
      putFile(directory, "Caddyfile", global + config);
      const args = ["run", "--config", join(directory, "Caddyfile")];
      return started(CADDY, args, directory, socket);
    },
  },
  {
    name: "haproxy",
    missing: skipOf("haproxy", HAPROXY),
    address: (socket) => `unix@${socket}`,
    async start(directory, config, socket) {
      await mkdir(directory, { recursive: true });
      putFile(directory, "haproxy.cfg", config);
      const args = ["-db", "-f", join(directory, "haproxy.cfg")];
      return started(HAPROXY, args, directory, socket);
    },
  },
];

function skipOf(name: string, program: string | undefined): string {
  return program === undefined
    ? ` (skipped: ${name} is not installed: apt-get install ${name})`
    : "";
}

/** Starts a program whose files are in a directory, until it listens. */
async function started(
  program: string | undefined,
  args: readonly string[],
  directory: string,
  socket: string,
): Promise<AsyncDisposable> {
  const child = spawn(program ?? "", args, {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, HOME: directory, XDG_DATA_HOME: directory },
  });
  let said = "";
  child.stderr.on("data", (text) => {
    said += String(text);
  });
  while (!(await listens(socket))) {
    if (hasEnded(child)) throw new Error(`${program} does not start: ${said}`);
    await delay(10);
  }
  return {
    async [Symbol.asyncDispose]() {
      if (hasEnded(child)) return;
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

/** Whether a program accepts connections at a socket. */
async function listens(path: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const tried = connect(path)
    .on("connect", () => resolve(true))
    .on("error", () => resolve(false));
  return promise.finally(() => tried.destroy());
}

/**
 * One of the configurations that docs/deployment.md shows for a proxy, by the
 * name in the comment before it.
 */
export async function documentedConfig(
  { name: proxy }: Pick<ReverseProxy, "name">,
  name: string,
): Promise<string> {
  const text = await readFile(
    new URL("../../docs/deployment.md", import.meta.url),
    "utf8",
  );
  const found = new RegExp(
    `<!-- ${proxy}: ${name} -->\n\`\`\`\\w+\n([\\s\\S]*?)\`\`\``,
  ).exec(text)?.[1];
  if (found === undefined) {
    throw new Error(`docs/deployment.md has no ${proxy} configuration ${name}`);
  }
  return found;
}

/**
 * A port of this machine that leads to a socket in the file system: proxies
 * take no free port by themselves.
 */
export interface Entrance extends AsyncDisposable {
  readonly port: number;
}

/** Opens a free port whose connections go to a socket, byte for byte. */
export async function openEntrance(socketPath: string): Promise<Entrance> {
  const server = createServer((client) => {
    const inner = connect(socketPath);
    client
      .on("error", () => inner.destroy())
      .on("close", () => inner.destroy());
    inner
      .on("error", () => client.destroy())
      .on("close", () => client.destroy());
    client.pipe(inner).pipe(client);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return {
    port: typeof address === "object" && address ? address.port : 0,
    [Symbol.asyncDispose]: () =>
      new Promise((closed) => void server.close(() => closed())),
  };
}
