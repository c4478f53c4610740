/** Starts the command, once `main.ts` has checked the version of Node. */
import { Console } from "node:console";
import { EventEmitter } from "node:events";
import { enableCompileCache } from "node:module";
import { cacheDirectory } from "./cache-directory.ts";
import { ExitCode } from "./exit-code.ts";

// Node caches compiled code, so that every start but the first is quick.
const compiled = cacheDirectory("compile", process.env);
if (compiled !== undefined) enableCompileCache(compiled);
// Standard output is for results; whatever libraries log goes to standard
// error.
globalThis.console = new Console(process.stderr);
// Node 22 warns that `node:sqlite` is experimental, which users of the command
// cannot change.
const printers = process.listeners("warning");
process.removeAllListeners("warning").on("warning", (warning) => {
  if (
    warning.name === "ExperimentalWarning" &&
    warning.message.startsWith("SQLite ")
  ) {
    return;
  }
  for (const print of printers) print(warning);
});
const interrupts = new EventEmitter();
process.on("SIGINT", () => {
  if (interrupts.listenerCount("interrupt") === 0) process.exit(130);
  interrupts.emit("interrupt");
});
let isOutputClosed = false;
// A reader may close the pipe, as `head` does: then the command stops too,
// without a message.
process.stdout.on("error", (reason) => {
  if (!("code" in reason) || reason.code !== "EPIPE") throw reason;
  isOutputClosed = true;
  if (interrupts.listenerCount("interrupt") === 0) {
    process.exit(ExitCode.OUTPUT_CLOSED);
  }
  interrupts.emit("interrupt");
});
process.stderr.on("error", () => undefined);
void run();

async function run(): Promise<void> {
  const { runProgram } = await import("./program.ts");
  const exitCode = await runProgram(process.argv.slice(2), {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    interactive:
      process.stdin.isTTY === true &&
      (process.stdout.isTTY === true || process.stderr.isTTY === true),
    onInterrupt(listener) {
      interrupts.on("interrupt", listener);
      return () => interrupts.off("interrupt", listener);
    },
    interrupt: () => void interrupts.emit("interrupt"),
  });
  // Do not wait for connections that a server leaves open.
  setTimeout(() => process.exit(), 1_000).unref();
  process.exitCode = isOutputClosed ? ExitCode.OUTPUT_CLOSED : exitCode;
}
