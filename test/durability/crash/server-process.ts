import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fromJsonString } from "@bufbuild/protobuf";
import { type ServerInfo, ServerInfoSchema } from "@devtool/schema/operator";
import { MAIN } from "../../our-command.ts";

/** A server in a process of its own, as its users start it. */
export interface ServerProcess {
  readonly info: ServerInfo;
  /** Its standard output and standard error so far. */
  readonly said: { readonly stdout: string; readonly stderr: string };
  /** Resolves when its process is gone, with the signal that ended it. */
  readonly ended: Promise<NodeJS.Signals | null>;
  /** Kills it at once, as a crash would, and waits until it is gone. */
  kill(): Promise<void>;
  /** Asks it to stop, and gives its exit code. */
  stop(): Promise<number | null>;
}

/** Where a server works, and in which environment; default: this process's. */
export interface ServerPlace {
  readonly data: string;
  readonly workspace: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** Starts the built command and waits for its line of JSON. */
export async function startServerProcess(
  place: ServerPlace,
): Promise<ServerProcess> {
  const { data, workspace, environment } = place;
  return startServing(["--data", data, "--workspace", workspace], environment);
}

/**
 * Starts the built command, or the one of a file, with further flags, in an
 * environment, on a Node, and waits for its line of JSON.
 */
export async function startServing(
  flags: readonly string[],
  environment: NodeJS.ProcessEnv = process.env,
  main: string = MAIN,
  node: string = process.execPath,
): Promise<ServerProcess> {
  // An earlier version has no such flag.
  const quiet = main === MAIN ? ["--log-level", "warn"] : [];
  const args = [main, "serve", "--port", "0", "--json", ...quiet, ...flags];
  const child = spawn(node, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: environment,
  });
  const gone = new Promise<NodeJS.Signals | null>((resolve) =>
    child.once("exit", (_code, signal) => resolve(signal)),
  );
  const said = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk) => (said.stdout += chunk));
  child.stderr.on("data", (chunk) => (said.stderr += chunk));
  const [line]: unknown[] = await Promise.race([
    once(createInterface({ input: child.stdout }), "line"),
    once(child, "exit").then(([code, signal]) =>
      Promise.reject(
        new Error(
          `the server ended with ${code ?? signal} before it was ready: ${said.stderr}`,
        ),
      ),
    ),
  ]);
  return {
    info: fromJsonString(ServerInfoSchema, String(line)),
    said,
    ended: gone,
    kill: () => end(child, "SIGKILL").then(() => undefined),
    stop: () => end(child, "SIGTERM"),
  };
}

async function end(
  child: ChildProcess,
  signal: NodeJS.Signals,
): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) {
    const gone = once(child, "exit");
    child.kill(signal);
    await gone;
  }
  return child.exitCode;
}
