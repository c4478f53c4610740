import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import {
  mkdirSync,
  mkdtempSync,
  openSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import {
  createServer as createListener,
  type ListenOptions,
  type Server,
} from "node:net";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { discoveryPath, writeDiscovery } from "@devtool/cli/testing";
import { textMessage } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { putFile } from "@devtool/internal/testing/files";
import { TaskState } from "@devtool/schema";
import { ServerInfoSchema } from "@devtool/schema/operator";
import { clientOf } from "../client-of.ts";

/**
 * The targets of an escape: a machine with secrets, other processes, and a
 * server that waits for an answer.
 */
export interface Ground extends AsyncDisposable {
  /** Stands in each secret; who says it has read one. */
  readonly canary: string;
  /** The directory that commands may work in, a git repository. */
  readonly workspace: string;
  /**
   * The user's home: secrets, and below it where the server keeps tasks and
   * token.
   */
  readonly home: string;
  /** Other places of the user: a directory each, with a secret. */
  readonly places: Readonly<Record<"tmp" | "varTmp" | "shm", string>>;
  /**
   * A process of the user, with secrets in its environment, arguments, working
   * directory and descriptor 3.
   */
  readonly neighbour: number;
  /**
   * Listeners that answer with the canary: a port on each loopback address, a
   * socket by path, an abstract socket.
   */
  readonly ports: Readonly<Record<"v4" | "v6", number>>;
  readonly socket: string;
  readonly abstractSocket: string;
  /** The port that notes what it is sent. */
  readonly udpPort: number;
  /** Returns what was sent there until now. */
  readonly heard: () => Promise<readonly string[]>;
  readonly server: {
    readonly url: string;
    readonly token: string;
    readonly discovery: string;
    readonly data: string;
  };
  /**
   * Has the server ask for something; when somebody agrees, a file of that name
   * appears in the workspace.
   */
  ask(file: string): Promise<void>;
}

/** Prepares the ground. */
export async function prepareGround(): Promise<Ground> {
  const canary = `canary-${randomUUID()}`;
  const stack = new AsyncDisposableStack();
  const directory = (parent: string): string =>
    stack.adopt(secretDirectory(parent, canary), remove);
  const home = directory(homedir());
  const workspace = directory(tmpdir());
  fillHome(home, canary);
  fillWorkspace(workspace, home);
  const neighbour = stack.adopt(
    startNeighbour(home, canary),
    (child) => void child.kill("SIGKILL"),
  );
  const places = {
    tmp: directory(tmpdir()),
    varTmp: directory("/var/tmp"),
    shm: directory("/dev/shm"),
  };
  const listenAt = async (options: ListenOptions): Promise<number> =>
    portOf(
      stack.adopt(
        await listen(options, canary),
        (server) => void server.close(),
      ),
    );
  const socket = join(places.tmp, "docker.sock");
  const abstractSocket = `devtool-${randomUUID()}`;
  await listenAt({ path: socket });
  await listenAt({ path: `\0${abstractSocket}` });
  const udp = stack.adopt(await listenUdp(), ({ socket }) => {
    socket.close();
  });
  const data = join(home, ".devtool");
  const server = stack.use(
    await serveCodingAgent({ workspace, dataDirectory: data }),
  );
  await writeDiscovery(
    data,
    create(ServerInfoSchema, {
      url: server.url,
      token: server.token,
      pid: process.pid,
    }),
  );
  return {
    canary,
    workspace,
    home,
    places,
    neighbour: neighbour.pid ?? 0,
    ports: {
      v4: await listenAt({ port: 0, host: "127.0.0.1" }),
      v6: await listenAt({ port: 0, host: "::1" }),
    },
    socket,
    abstractSocket,
    udpPort: udp.socket.address().port,
    heard: udp.heard,
    server: {
      url: server.url,
      token: server.token,
      discovery: discoveryPath(data),
      data,
    },
    ask: (file) => askToWrite(server, file),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

function secretDirectory(parent: string, canary: string): string {
  const path = realpathSync(mkdtempSync(join(parent, "devtool-s11-")));
  putFile(path, "secret.txt", canary);
  return path;
}

function remove(path: string): void {
  rmSync(path, { recursive: true, force: true });
}

function fillHome(home: string, canary: string): void {
  mkdirSync(join(home, ".ssh"));
  writeFileSync(join(home, ".ssh/id_ed25519"), canary, { mode: 0o600 });
  putFile(home, ".bashrc", "");
  putFile(home, "victim.txt", "");
}

function fillWorkspace(workspace: string, home: string): void {
  rmSync(join(workspace, "secret.txt"));
  execFileSync("git", ["init", "--quiet", workspace]);
  putFile(workspace, ".vscode/tasks.json", "{}");
  symlinkSync(home, join(workspace, "link"));
}

function startNeighbour(home: string, canary: string): ChildProcess {
  const secret = openSync(join(home, "secret.txt"), "r");
  return spawn(
    process.execPath,
    ["-e", "setInterval(() => undefined, 1e6)", canary],
    {
      cwd: home,
      env: { TOKEN: canary },
      stdio: ["ignore", "ignore", "ignore", secret],
    },
  );
}

function listen(options: ListenOptions, canary: string): Promise<Server> {
  const server = createListener((socket) =>
    socket.on("error", () => undefined).end(canary),
  );
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(options, () => resolve(server));
  });
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === "object" ? (address?.port ?? 0) : 0;
}

async function listenUdp() {
  const socket = createSocket("udp4");
  const heard: string[] = [];
  socket.on("message", (message) => heard.push(message.toString()));
  await once(socket.bind(0, "127.0.0.1"), "listening");
  return {
    socket,
    heard: async () => {
      // What was sent before this is there when it is.
      const mark = randomUUID();
      socket.send(mark, socket.address().port, "127.0.0.1");
      while (!heard.includes(mark)) await once(socket, "message");
      heard.splice(heard.indexOf(mark), 1);
      return heard;
    },
  };
}

async function askToWrite(
  server: { readonly url: string; readonly token: string },
  file: string,
): Promise<void> {
  const message = textMessage(randomUUID(), `write ${file} approved`);
  const { task } = await clientOf(server).tasks.sendMessage({ message });
  if (task?.state !== TaskState.INPUT_REQUIRED) {
    throw new Error("nothing waits for an answer");
  }
}
