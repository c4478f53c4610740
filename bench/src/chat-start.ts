import { spawn, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { processorMs } from "./subject.ts";

const MAIN = fileURLToPath(
  new URL("../../packages/cli/dist/main.js", import.meta.url),
);

/** What a start of the chat takes until its prompt is on the screen. */
export interface ChatStart {
  readonly startMs: number;
  /**
   * The processor time of that, in milliseconds: other processes change it
   * less.
   */
  readonly startCpuMs: number;
}

/** Says why the chat cannot be started here; undefined when it can. */
export function chatProblem(): string | undefined {
  return spawnSync("script", ["--version"]).status === 0
    ? undefined
    : "the chat needs a terminal: install script (util-linux)";
}

/**
 * Starts the chat in a terminal of its own, made by `script`, and ends it. It
 * finds the server of a data directory, as it does where no `--url` is given.
 */
export async function startChat(
  data: string,
  env: NodeJS.ProcessEnv,
): Promise<ChatStart> {
  const chat = `exec "${process.execPath}" "${MAIN}" chat --data "${data}"`;
  const command = `stty rows 40 cols 100; echo "pid=$$"; ${chat}`;
  const start = performance.now();
  const child = spawn("script", ["-qfec", command, "/dev/null"], {
    env: { ...process.env, TERM: "xterm", NO_COLOR: "1", ...env },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const { promise: exited, resolve: exit } = Promise.withResolvers<void>();
  child.once("exit", () => exit());
  let screen = "";
  let started: ChatStart | undefined;
  for await (const piece of child.stdout) {
    screen += String(piece);
    if (started || !/\n>/.test(stripVTControlCharacters(screen))) continue;
    started = {
      startMs: performance.now() - start,
      startCpuMs: processorMs(Number(/pid=(\d+)/.exec(screen)?.[1])),
    };
    // Ctrl-D leaves.
    child.stdin.write("\u0004");
  }
  await exited;
  if (!started) throw new Error(`the chat did not start:\n${screen}`);
  return started;
}
