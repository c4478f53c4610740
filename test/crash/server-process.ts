import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { fromJsonString } from "@bufbuild/protobuf";
import { type ServerInfo, ServerInfoSchema } from "@devtool/schema";

const MAIN = fileURLToPath(new URL("../../packages/cli/dist/main.js", import.meta.url));

/** A server in a process of its own, as its users start it. */
export interface ServerProcess {
  readonly info: ServerInfo;
  /** Kills it at once, as a crash would, and waits until it is gone. */
  kill(): Promise<void>;
  /** Asks it to stop, and gives its exit code. */
  stop(): Promise<number | null>;
}

/** Starts the built command and waits for its line of JSON. */
export async function startServerProcess(directories: {
  readonly data: string;
  readonly workspace: string;
}): Promise<ServerProcess> {
  const { data, workspace } = directories;
  const args = ["serve", "--port", "0", "--json", "--data", data, "--workspace", workspace];
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const [line]: unknown[] = await Promise.race([
    once(createInterface({ input: child.stdout }), "line"),
    once(child, "exit").then(([code]) =>
      Promise.reject(new Error(`the server ended with ${code} before it was ready`)),
    ),
  ]);
  return {
    info: fromJsonString(ServerInfoSchema, String(line)),
    kill: () => end(child, "SIGKILL").then(() => undefined),
    stop: () => end(child, "SIGTERM"),
  };
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) {
    const gone = once(child, "exit");
    child.kill(signal);
    await gone;
  }
  return child.exitCode;
}
