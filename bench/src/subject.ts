import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { prompt, type Send } from "./client.ts";

/** A server that is measured, in a process of its own. */
export interface Subject extends AsyncDisposable {
  readonly name: string;
  readonly url: string;
  readonly token: string;
  /**
   * From the start of the process to the line that says where it listens, in
   * milliseconds.
   */
  readonly listeningMs: number;
  /**
   * The processor time that it took until then, in milliseconds: other
   * processes change it less.
   */
  readonly listeningCpuMs: number;
  /**
   * From the start of the process to the first answer of its agent card, in
   * milliseconds.
   */
  readonly startMs: number;
  readonly workspace: string;
  /** Whether its tools want absolute paths. */
  readonly absolutePaths: boolean;
  /** A prompt as the server wants it. */
  prompt(text: string): Send;
  /** Resident memory now, in MB. */
  memoryMb(): number;
  /** Processor time since its start, in milliseconds. */
  processorMs(): number;
}

/**
 * How to start a server: it prints a line of JSON with `url` and `token` when
 * it listens.
 */
export interface SubjectCommand {
  readonly name: string;
  readonly args: (directory: string) => readonly string[];
  /** Variables beside those of this process. */
  readonly env?: Readonly<Record<string, string>>;
  readonly absolutePaths?: true;
  /** The metadata that the server expects with each message. */
  readonly metadata?: (directory: string) => object;
}

const path = (relative: string): string =>
  fileURLToPath(new URL(relative, import.meta.url));

/** The repository that this file is in. */
export const ROOT: string = path("../../");

/** The server of a repository that is built: durable, on SQLite. */
export function devtoolOf(repository: string): SubjectCommand {
  return {
    name: "devtool",
    args: (directory) => [
      join(repository, "packages/cli/dist/main.js"),
      "serve",
      "--json",
      "--port",
      "0",
      "--data",
      `${directory}-data`,
      "--workspace",
      directory,
    ],
  };
}

/** Our server: durable, on SQLite. */
export const DEVTOOL: SubjectCommand = devtoolOf(ROOT);

/**
 * Our server without our agent, durable, on SQLite: what somebody who brings an
 * agent of twenty lines starts.
 */
export const ECHO: SubjectCommand = {
  name: "server",
  args: (directory) => [path("echo-server.js"), `${directory}-data`],
};

/** A server of Node that answers everything alike. */
export const NODE_HTTP: SubjectCommand = {
  name: "node:http",
  args: () => [path("node-server.js")],
};

/**
 * The same with the libraries of our servers loaded, and with an open database:
 * the lower bound of their memory.
 */
export const LIBRARIES: SubjectCommand = {
  name: "libraries",
  args: (directory) => [
    path("libraries-server.js"),
    join(directory, "tasks.sqlite"),
  ],
};

/** An agent on the official SDK for JavaScript, in memory. */
export const A2A_JS: SubjectCommand = {
  name: "@a2a-js/sdk",
  args: () => [path("a2a-js-server.ts")],
};

/**
 * Google's server for its own agent: the modules of its package, which start
 * faster and stay smaller than its bundle.
 */
export const PEER: SubjectCommand = {
  name: "gemini-cli-a2a-server",
  args: (directory) => [path("peer-server.ts"), PEER_APP, directory],
  absolutePaths: true,
  metadata: (workspacePath) => ({
    coderAgent: { kind: "agent-settings", workspacePath, autoExecute: true },
  }),
};

const PEER_APP = path(
  "../../peers/node_modules/@google/gemini-cli-a2a-server/dist/src/http/app.js",
);

/** Says why Google's server cannot be measured here; undefined when it can. */
export function peerProblem(): string | undefined {
  return existsSync(PEER_APP)
    ? undefined
    : "Google's server is not installed: run npx -y pnpm@12 install:peers";
}

/**
 * The Gemini SDK behind a socket, and nothing else: the lower bound for an
 * agent on it.
 */
export const GEMINI_FLOOR: SubjectCommand = {
  name: "SDK alone",
  args: () => [path("gemini-floor-server.ts")],
};

/**
 * The same with what a durable agent must do beside: the lower bound for turns
 * of ours (`floor-log.ts`).
 */
export const DURABLE_FLOOR: SubjectCommand = {
  name: "durable floor",
  args: (directory) => [path("gemini-floor-server.ts"), directory],
};

/** Server-sent events of the same bytes, and nothing else: what Node can do. */
export const CEILING: SubjectCommand = {
  name: "raw SSE",
  args: () => [path("raw-sse-server.ts")],
};

/**
 * Starts a fake Gemini at latency 0, in a process of its own: in ours it would
 * wait for the client.
 */
export async function startFakeGemini(): Promise<
  AsyncDisposable & { readonly url: string }
> {
  const main = path("../../packages/gemini/src/testing/main.ts");
  const child = spawn(process.execPath, [main], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(createInterface({ input: child.stdout }), "line");
  return {
    url: String(line).replace(/^.* /, ""),
    [Symbol.asyncDispose]: () => stop(child),
  };
}

/** Starts a server and waits for its card. */
export async function startSubject(command: SubjectCommand): Promise<Subject> {
  const { name, args, env, metadata, absolutePaths = false } = command;
  const directory = mkdtempSync(join(tmpdir(), "devtool-bench-"));
  // Its log has lines for each turn, which nobody reads here.
  const log = openSync(`${directory}.log`, "w");
  const start = performance.now();
  const child = spawn(process.execPath, args(directory), {
    stdio: ["ignore", "pipe", log],
    env: { ...process.env, HOME: directory, ...env },
  });
  closeSync(log);
  const { stdout } = child;
  if (!stdout) throw new Error("the server has no standard output");
  const failed = once(child, "exit").then(() => {
    throw new Error(readFileSync(`${directory}.log`, "utf8"));
  });
  const [line] = await Promise.race([
    once(createInterface({ input: stdout }), "line"),
    failed,
  ]);
  failed.catch(() => undefined);
  const listeningMs = performance.now() - start;
  const listeningCpuMs = processorMs(child.pid);
  const { url, token } = JSON.parse(line);
  await (await fetch(new URL("/.well-known/agent-card.json", url))).text();
  return {
    name,
    url,
    token,
    listeningMs,
    listeningCpuMs,
    startMs: performance.now() - start,
    workspace: directory,
    absolutePaths,
    prompt: (text) => ({
      ...prompt(text),
      ...(metadata && { metadata: metadata(directory) }),
    }),
    memoryMb: () => residentMb(child),
    processorMs: () => processorMs(child.pid),
    async [Symbol.asyncDispose]() {
      await stop(child);
      const files = [directory, `${directory}-data`, `${directory}.log`];
      for (const path of files) {
        rmSync(path, { recursive: true, force: true });
      }
    },
  };
}

async function stop(child: ChildProcess): Promise<void> {
  child.kill("SIGTERM");
  await once(child, "exit");
}

/**
 * Processor time of all threads of a process so far, in milliseconds: the first
 * number of their `schedstat`, in nanoseconds, where `/proc/PID/stat` counts in
 * steps of 10 ms.
 */
export function processorMs(pid: number | undefined): number {
  return readdirSync(`/proc/${pid}/task`)
    .map((thread) => {
      const file = `/proc/${pid}/task/${thread}/schedstat`;
      const [ran] = readFileSync(file, "utf8").split(" ");
      return Number(ran) / 1e6;
    })
    .reduce((sum, ms) => sum + ms, 0);
}

/**
 * Processor time so far of this process, of those that it started, and of those
 * that they did, in milliseconds.
 */
export function familyMs(pid: number = process.pid): number {
  try {
    const children = readdirSync(`/proc/${pid}/task`).flatMap(
      (thread) =>
        readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8").match(
          /\d+/g,
        ) ?? [],
    );
    return children.reduce(
      (sum, child) => sum + familyMs(Number(child)),
      processorMs(pid),
    );
  } catch {
    // It has ended meanwhile.
    return 0;
  }
}

/**
 * Processor time of the processes that this one started and that have ended, in
 * milliseconds.
 */
export function endedMs(): number {
  const stat = readFileSync("/proc/self/stat", "utf8");
  // After the name: user and system time in steps of 10 ms.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[13]) + Number(fields[14])) * 10;
}

function residentMb({ pid }: ChildProcess): number {
  const [, kilobytes = "0"] =
    /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) / 1024;
}
