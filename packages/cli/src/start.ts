/** Starts the command; `main.ts` has seen that this Node can. */
import { Console } from "node:console";
import { EventEmitter } from "node:events";
import { enableCompileCache } from "node:module";
import { compileCacheDirectory } from "./compile-cache.ts";

// Node keeps what it compiled, so that every start but the first is quick.
const compiled = compileCacheDirectory(process.env);
if (compiled !== undefined) enableCompileCache(compiled);
// Standard output is for what was asked for; what libraries have to say goes beside it.
globalThis.console = new Console(process.stderr);
// Node 22 warns of the module that keeps the tasks, which nobody who runs the command can change.
const printers = process.listeners("warning");
process.removeAllListeners("warning").on("warning", (warning) => {
  if (warning.name === "ExperimentalWarning" && warning.message.startsWith("SQLite ")) return;
  for (const print of printers) print(warning);
});
const interrupts = new EventEmitter();
process.on("SIGINT", () => {
  if (interrupts.listenerCount("interrupt") === 0) process.exit(130);
  interrupts.emit("interrupt");
});
let isOutputClosed = false;
// Whoever reads us may stop, as `head` does: then the command stops too, and says nothing of it.
process.stdout.on("error", (reason) => {
  if (!("code" in reason) || reason.code !== "EPIPE") throw reason;
  isOutputClosed = true;
  if (interrupts.listenerCount("interrupt") === 0) process.exit(ExitCode.OUTPUT_CLOSED);
  interrupts.emit("interrupt");
});
process.stderr.on("error", () => undefined);
const { ExitCode } = await import("./exit-code.ts");
const { runProgram } = await import("./program.ts");

const exitCode = await runProgram(process.argv.slice(2), {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  interactive: process.stdin.isTTY === true && (process.stdout.isTTY === true || process.stderr.isTTY === true),
  onInterrupt(listener) {
    interrupts.on("interrupt", listener);
    return () => interrupts.off("interrupt", listener);
  },
  interrupt: () => void interrupts.emit("interrupt"),
});
// A connection that a server left open does not hold the command.
setTimeout(() => process.exit(), 1_000).unref();
process.exitCode = isOutputClosed ? ExitCode.OUTPUT_CLOSED : exitCode;
